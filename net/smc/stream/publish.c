// SPDX-License-Identifier: GPL-2.0
/* Publishing: decide when to send which bytes, cursors and flags to the peer, and send them. */

#include <net/sock.h>

#include "admin/net.h"
#include "internal.h"
#include "trace.h"

/* Publish once by the path. Return: 0, or the path's error, which leaves the stream unchanged. */
static int smc_publish_once(struct smc_stream *st, u64 end, u8 final)
{
	u64 consumed = READ_ONCE(st->rx.consumed);
	struct smc_cdc cdc = {
		.prod = smc_cursor_advanced(st->tx.sent_cursor, st->tx.peer_size,
					    end - st->tx.sent),
		.cons = smc_cursor_advanced(st->rx.reported_cursor, st->rx.size,
					    consumed - st->rx.reported),
		.conn_flags = st->tx.conn_flags | final,
	};
	/* A writer that waits because of TCP_NOTSENT_LOWAT may continue after this publish. */
	bool limited = smc_tx_has_writer(&st->tx) && smc_tx_exceeds_lowat(st);
	int rc;

	cdc.prod_flags = smc_publish_prod_flags(&st->tx, end, final, st->local_peer);
	rc = st->path->publish(st, end, &cdc);
	if (rc < 0)
		return rc;
	trace_smc_publish(st, &cdc);
	smc_tx_publish(&st->tx, end, &cdc, final, rc == SMC_PUBLISH_BEGUN);
	WRITE_ONCE(st->rx.reported, consumed);
	st->rx.reported_cursor = cdc.cons;
	if (unlikely(limited))
		smc_stream_note_room(st);
	if (unlikely(final) && smc_stream_end_is_delivered(st))
		st->events |= SMC_EVENTS_END_DELIVERED;
	return 0;
}

void smc_stream_push(struct smc_stream *st, enum smc_push how)
{
	struct smc_stream_tx *tx = &st->tx;
	enum smc_publish_decision decision;
	u64 end, piece;
	u8 final;

	lockdep_assert_held(st->lock);

	while (!smc_stream_is_down(st) && smc_publish_is_allowed(tx, st->rx.conn_flags)) {
		end = smc_publish_end(tx);
		final = smc_publish_final(tx, end, st->rx.conn_flags);

		if (end == tx->sent && smc_publish_lacks_completion(tx) && !smc_tx_has_room(tx))
			smc_tx_request_update(tx);
		decision = smc_publish_decide(tx, how, end, final,
					      &st->sn->sysctl.autocorking_size);
		if (decision == SMC_DUE_LIMITED)
			smc_stream_start_hold_timer(st);
		if (decision != SMC_DUE_NOW)
			return;
		tx->due = end;
		piece = smc_publish_piece(tx, end, st->rx.conn_flags);
		if (smc_publish_once(st, piece, piece == end ? final : 0) ||
		    piece == READ_ONCE(tx->written))
			return;
	}
}
