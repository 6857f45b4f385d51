// SPDX-License-Identifier: GPL-2.0
/* CLC DECLINE: the connection continues as TCP, with a diagnosis that says why. */
#include "bytes.h"
#include "clc_frame.h"

enum {
	DECLINE_PEER_ID		= 8,
	DECLINE_DIAGNOSIS	= 16,
	DECLINE_OS		= 20,	/* high nibble */
	DECLINE_END		= 24,	/* of version 1 */
	DECLINE_FURTHER		= 24,
	DECLINE_V2_END		= 40,
};

int smc_clc_parse_decline(const u8 *buf, size_t len, struct smc_clc_decline *d)
{
	struct smc_clc_header hdr;
	unsigned int i;
	u32 end;

	if (smc_clc_open(buf, len, &hdr, &end) || hdr.type != SMC_CLC_DECLINE)
		return -EPROTO;

	memset(d, 0, sizeof(*d));
	d->version = hdr.version;
	d->out_of_sync = hdr.flags & SMC_CLC_FLAG_OUT_OF_SYNC;
	memcpy(d->peer_id, buf + DECLINE_PEER_ID, SMC_PEER_ID_LEN);
	d->diagnosis = get_be32(buf + DECLINE_DIAGNOSIS);
	d->os_type = buf[DECLINE_OS] >> 4;

	/* Early version 2 senders use the short form of version 1. */
	if (end < DECLINE_V2_END)
		return 0;
	for (i = 0; i < SMC_CLC_MAX_FURTHER; i++)
		d->further[i] = get_be32(buf + DECLINE_FURTHER + 4 * i);
	return 0;
}

size_t smc_clc_build_decline(u8 *buf, const struct smc_clc_decline *d)
{
	const struct smc_clc_header hdr = {
		.type = SMC_CLC_DECLINE,
		.version = d->version,
		.flags = d->out_of_sync ? SMC_CLC_FLAG_OUT_OF_SYNC : 0,
	};
	unsigned int i;

	memset(buf, 0, DECLINE_V2_END);
	memcpy(buf + DECLINE_PEER_ID, d->peer_id, SMC_PEER_ID_LEN);
	put_be32(buf + DECLINE_DIAGNOSIS, d->diagnosis);
	buf[DECLINE_OS] = (u8)(d->os_type << 4);
	if (d->version == SMC_VERSION_1)
		return smc_clc_close(buf, DECLINE_END, &hdr);

	for (i = 0; i < SMC_CLC_MAX_FURTHER; i++)
		put_be32(buf + DECLINE_FURTHER + 4 * i, d->further[i]);
	return smc_clc_close(buf, DECLINE_V2_END, &hdr);
}
