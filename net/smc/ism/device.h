/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ISM devices: what makes memory of one end, a DMB, writable for the other. There is one
 * device, the loopback inside a host (loopback.c).
 */
#ifndef SMC_ISM_DEVICE_H
#define SMC_ISM_DEVICE_H

#include <linux/types.h>

#include "wire/clc.h"

struct smc_ism_conn;

/* Address of a device: unique in the world of its kind. */
struct smc_ism_gid {
	u64 gid;
	u64 ext;	/* second half, of an emulated device */
};

static inline bool smc_ism_gid_equal(struct smc_ism_gid a, struct smc_ism_gid b)
{
	return a.gid == b.gid && a.ext == b.ext;
}

/**
 * struct smc_ism_ops - what a device can do with a connection's element
 * @open: make the element of @conn known under its token and index. Under the stream's lock.
 * @close: undo @open, and what @attach did. The peer does not write to the element any
 *	more. Not hard interrupt.
 * @attach: make the peer's element writable for @conn: set its stream's sending ring
 *	and conn->peer_control, under the stream's lock. Returns 0, or -ENOENT if there is no
 *	such element, or it is not for this connection. Process context.
 * @signal: @conn has written the control area of the peer's element: have
 *	smc_ism_conn_receive() called at the other end. Under the stream's lock.
 */
struct smc_ism_ops {
	void (*open)(struct smc_ism_conn *conn);
	void (*close)(struct smc_ism_conn *conn);
	int (*attach)(struct smc_ism_conn *conn, const struct smc_clc_d *peer);
	void (*signal)(struct smc_ism_conn *conn);
};

/**
 * struct smc_ism_device - a device
 * @name: for users
 * @chid: its channel; SMC_CHID_EMULATED and above have GIDs of 128 bits
 * @gid: its address
 * @ops: what it can do
 */
struct smc_ism_device {
	const char *name;
	u16 chid;
	struct smc_ism_gid gid;
	const struct smc_ism_ops *ops;
};

/* The device inside the host; its address is new with each load of the module. */
extern struct smc_ism_device smc_loopback;

void smc_loopback_init(void);

#endif
