// SPDX-License-Identifier: GPL-2.0
/*
 * MSG_ZEROCOPY. A stream copies the bytes nevertheless, and reports that by
 * TCP's notifications in the socket's error queue. The kernel's socket code
 * numbers and limits the notifications.
 */

#include <linux/skbuff.h>
#include <net/sock.h>

#include "internal.h"

int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct ubuf_info **notice)
{
	*notice = NULL;
	/* io_uring brings its own notification, and completes it when sendmsg() has returned. */
	if (!(msg->msg_flags & MSG_ZEROCOPY) || !len || msg->msg_ubuf ||
	    !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	*notice = msg_zerocopy_realloc(sk, len, NULL);
	if (!*notice)
		return -ENOBUFS;
	uarg_to_msgzc(*notice)->zerocopy = 0;
	return 0;
}

void smc_zerocopy_end(struct ubuf_info *notice, bool is_sent)
{
	if (is_sent)
		net_zcopy_put(notice);
	else
		net_zcopy_put_abort(notice, true);
}
