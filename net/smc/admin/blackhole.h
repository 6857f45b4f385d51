/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where SMC has done harm: addresses and GIDs of a network namespace that are spared it for a
 * while, net.smc.blackhole_timeout.
 */
#ifndef SMC_ADMIN_BLACKHOLE_H
#define SMC_ADMIN_BLACKHOLE_H

#include <linux/in6.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "../../../include/uapi/linux/smc.h"

struct net;
struct sk_buff;
struct smc_net;
struct sock;
struct sockaddr;

/* Whom an entry is about. */
enum smc_blackhole_kind {
	SMC_BLACKHOLE_NOBODY,	/* what is noted of it is dropped */
	SMC_BLACKHOLE_SERVER,	/* its address and port: a user's SYN to it leaves out the option */
	SMC_BLACKHOLE_CLIENT,	/* its address and a port here: the option of its SYN is not seen */
	SMC_BLACKHOLE_GID,	/* an RDMA port of a host at an address: no link is made to it */
	SMC_N_BLACKHOLE_KINDS,
};

/**
 * struct smc_blackhole_key - whom an entry is about; no padding, so that bytes compare
 * @addr: of the peer; one of IPv4 is mapped
 * @gid: of the peer's RDMA port, or zero
 * @uid: of a server: whose connections are spared; or zero
 * @port: as @kind says, or zero
 * @kind: enum smc_blackhole_kind
 */
struct smc_blackhole_key {
	struct in6_addr addr;
	u8 gid[16];
	kuid_t uid;
	__be16 port;
	u16 kind;
};

/**
 * struct smc_blackhole_info - an entry as it is shown
 * @serial: grows with each entry; 0 before the first
 * @key: whom it is about
 * @event: SMC_BLACKHOLE_SYN_LOST and so on, what happened
 * @age: seconds since then
 * @left: seconds until it goes
 */
struct smc_blackhole_info {
	unsigned long serial;
	struct smc_blackhole_key key;
	u8 event;
	u32 age;
	u32 left;
};

/**
 * smc_blackhole_key_server() - the destination of a connect()
 * @key: filled; about nobody if @addr is not whole
 * @sk: TCP socket that connects
 * @addr: as the application gave it
 * @len: bytes in @addr
 *
 * A user can drop what comes to his own socket, so what happens there counts for him only.
 */
void smc_blackhole_key_server(struct smc_blackhole_key *key, const struct sock *sk,
			      const struct sockaddr *addr, int len);

/**
 * smc_blackhole_key_client() - the peer of an accepted connection
 * @key: filled
 * @sk: TCP socket
 */
void smc_blackhole_key_client(struct smc_blackhole_key *key, const struct sock *sk);

/**
 * smc_blackhole_key_gid() - an RDMA port of a connection's peer
 * @key: filled
 * @sk: TCP socket, connected
 * @gid: 16 bytes
 *
 * Whoever names the GID of another host harms nobody but the address that it does so from.
 */
void smc_blackhole_key_gid(struct smc_blackhole_key *key, const struct sock *sk, const u8 *gid);

/**
 * smc_blackhole_is_on() - whether the namespace wants entries at all
 * @sn: namespace
 */
bool smc_blackhole_is_on(const struct smc_net *sn);

/**
 * smc_blackhole_note() - make an entry, or make it anew
 * @sn: namespace
 * @key: whom it is about; not a client
 * @event: SMC_BLACKHOLE_SYN_LOST and so on
 *
 * Where there are too many of its kind, one gives way: one whose time is over, or else the oldest
 * of the user, or the peer, who has most of them. Without memory there is none.
 *
 * Context: any but hard interrupt.
 */
void smc_blackhole_note(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event);

/**
 * smc_blackhole_note_client() - the same of a client
 * @sn: namespace
 * @key: whom it is about
 * @event: SMC_BLACKHOLE_NO_PROPOSAL
 *
 * Context: process, may sleep. On return the option of its next SYN is not seen.
 */
void smc_blackhole_note_client(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event);

/**
 * smc_blackhole_has() - whether there is an entry, and its time is not over
 * @sn: namespace
 * @key: whom it is about
 *
 * Context: any.
 */
bool smc_blackhole_has(const struct smc_net *sn, const struct smc_blackhole_key *key);

/**
 * smc_blackhole_forget() - SMC works with them after all
 * @sn: namespace
 * @key: whom the entry is about, if there is one
 *
 * Context: any but hard interrupt.
 */
void smc_blackhole_forget(struct smc_net *sn, const struct smc_blackhole_key *key);

/**
 * smc_blackhole_flush() - forget all
 * @sn: namespace
 *
 * Context: process.
 */
void smc_blackhole_flush(struct smc_net *sn);

/**
 * smc_blackhole_next() - what there is to show
 * @sn: namespace
 * @info: its @serial says behind which entry to look; filled with the next one
 *
 * Context: process.
 * Return: false if there is no further one.
 */
bool smc_blackhole_next(const struct smc_net *sn, struct smc_blackhole_info *info);

/**
 * smc_blackhole_filter_begin() - begin to look at the SYNs of a namespace
 * @net: namespace
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_blackhole_filter_begin(struct net *net);

/**
 * smc_blackhole_filter_end() - end it; a SYN may be on its way through it for an RCU grace period
 * @net: namespace
 *
 * Context: process, may sleep.
 */
void smc_blackhole_filter_end(struct net *net);

/* Called by net.c for each namespace, and with an RCU grace period between the two that end it. */
int smc_blackhole_init_net(struct net *net);
void smc_blackhole_pre_exit_net(struct net *net);
void smc_blackhole_exit_net(struct net *net);

#endif
