/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ISM devices: they make the memory of one end, a DMB, writable for the other
 * end. There is one device, the loopback inside a host (loopback.c).
 */
#ifndef SMC_ISM_DEVICE_H
#define SMC_ISM_DEVICE_H

#include <linux/types.h>

#include "admin/net.h"
#include "wire/clc.h"

struct net;
struct smc_ism_conn;
struct smc_ism_device;

/**
 * smc_ism_is_address() - whether two addresses are equal
 * @a: an address
 * @b: another address
 * @version: version of SMC; addresses of version 1 have half of a GID, and no channel
 */
static inline bool smc_ism_is_address(const struct smc_clc_ism *a, const struct smc_clc_ism *b,
				      u8 version)
{
	return a->gid == b->gid &&
	       (version == SMC_VERSION_1 || (a->gid_ext == b->gid_ext && a->chid == b->chid));
}

/**
 * struct smc_ism_ops - operations of a device
 * @name: return the device's address for the CLC messages that an end in @net sends.
 * @reaches: whether @dev lets an end in @net share memory with the peer. *@peer is the address of
 *	the peer's device in the peer's messages, and may differ between messages. If @reaches
 *	returns true, it has replaced *@peer by the device's own address, which never differs.
 * @open: make the element of @conn known under its token and index. Called with the stream's lock.
 *	Returns 0 or -errno.
 * @close: undo @open and @attach, if they were called. When @close returns, the peer publishes
 *	nothing more to the element of @conn, but a copy that the peer has begun may still be in
 *	progress. Called in any context but hard interrupt.
 * @attach: make the peer's element writable for @conn: set the sending ring of the stream of @conn,
 *	under the stream's lock. Returns 0, or -EPROTO if there is no such element, or it is not for
 *	this connection. Called in process context.
 * @publish: copy the bytes of the sending ring up to position @end into the peer's element, unless
 *	that element itself is the ring. Then write @producer and @consumer into the element's
 *	control area, and have smc_ism_conn_receive() called for the peer. Called with the stream's
 *	lock, softirqs off. Returns what @publish of struct smc_path_ops returns.
 */
struct smc_ism_ops {
	struct smc_clc_ism (*name)(const struct smc_ism_device *dev, const struct net *net);
	bool (*reaches)(const struct smc_ism_device *dev, const struct net *net,
			struct smc_clc_ism *peer, u8 version);
	int (*open)(struct smc_ism_conn *conn);
	void (*close)(struct smc_ism_conn *conn);
	int (*attach)(struct smc_ism_conn *conn, const struct smc_clc_d *peer);
	int (*publish)(struct smc_ism_conn *conn, u64 end, u64 producer, u64 consumer);
};

/**
 * struct smc_ism_device - a device
 * @name: name that users see
 * @address: GID, unique among devices of this kind, and channel (CHID). With a CHID
 *	from SMC_CHID_EMULATED on, the GID has 128 bits
 * @ops: its operations
 */
struct smc_ism_device {
	const char *name;
	struct smc_clc_ism address;
	const struct smc_ism_ops *ops;
};

/**
 * smc_ism_device_at() - return a device of this host
 * @i: its number, from 0
 *
 * Return: the device, or NULL after the last one.
 */
struct smc_ism_device *smc_ism_device_at(unsigned int i);

/**
 * smc_ism_device_to() - find the device that shares memory with a peer's device
 * @net: network namespace of this end
 * @peer: the address that the peer's messages give for its device; replaced by that device's own
 *	address
 * @version: version of SMC
 *
 * Return: the device, or NULL if there is none.
 */
struct smc_ism_device *smc_ism_device_to(const struct net *net, struct smc_clc_ism *peer,
					 u8 version);

/**
 * smc_ism_is_on() - whether SMC-D is used in a namespace at all
 * @sn: namespace of this end; its sysctl and the host's both count
 */
static inline bool smc_ism_is_on(const struct smc_net *sn)
{
	return READ_ONCE(sn->sysctl.smcd) && READ_ONCE(smc_sysctl_smcd_scope) != SMC_SCOPE_NONE;
}

/*
 * The loopback device. Its address changes with each load of the module, and no
 * message contains that address.
 */
extern struct smc_ism_device smc_loopback;

int smc_loopback_init(void);

/**
 * smc_loopback_exit() - free the table of elements
 *
 * Context: process, after the end of all connections, because that end uses the table.
 */
void smc_loopback_exit(void);

#endif
