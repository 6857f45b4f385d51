/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blackhole entries: peers with which SMC has failed, by address or by GID. The
 * namespace does not use SMC with these peers for a while, see net.smc.blackhole_timeout.
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
struct sockaddr;

/* The kinds of peer that an entry describes. */
enum smc_blackhole_kind {
	SMC_BLACKHOLE_NONE,	/* no peer: events for this key are dropped */
	SMC_BLACKHOLE_SERVER,	/* server's address and port: a user's SYNs do not offer SMC */
	SMC_BLACKHOLE_CLIENT,	/* client's address, local port: the client's option is hidden */
	SMC_BLACKHOLE_GID,	/* address, and GID of an RDMA port: no link is made to the port */
	SMC_N_BLACKHOLE_KINDS,
};

/**
 * struct smc_blackhole_key - the peer of an entry; no padding, so that memcmp() works
 * @addr: address of the peer; an IPv4 address is mapped to IPv6
 * @gid: GID of the peer's RDMA port, or zero
 * @uid: for a server, the user whose connections do without SMC; otherwise zero
 * @port: the server's port, or the local port for a client; otherwise zero
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
 * struct smc_blackhole_info - an entry as shown to user space
 * @serial: serial number of the entry, larger than those of older entries; 0 if
 *	smc_blackhole_next() is to begin with the first entry
 * @key: the peer
 * @event: SMC_BLACKHOLE_SYN_LOST and so on
 * @age: seconds since the event
 * @left: seconds until the entry expires
 */
struct smc_blackhole_info {
	unsigned long serial;
	struct smc_blackhole_key key;
	u8 event;
	u32 age;
	u32 left;
};

/**
 * smc_blackhole_key_server() - make the key for the destination of a connect()
 * @key: filled; of kind SMC_BLACKHOLE_NONE if @addr is incomplete
 * @uid: user who connects
 * @addr: destination from the application
 * @len: length of @addr in bytes
 *
 * The key includes the user. A user can make SMC fail by dropping packets to his own
 * sockets, but this must not turn off SMC for other users.
 */
void smc_blackhole_key_server(struct smc_blackhole_key *key, kuid_t uid,
			      const struct sockaddr *addr, int len);

/**
 * smc_blackhole_key_client() - make the key for the peer of an accepted connection
 * @addr: the peer's address
 * @port: port of the accepted connection at this end
 */
struct smc_blackhole_key smc_blackhole_key_client(struct in6_addr addr, u16 port);

/**
 * smc_blackhole_key_gid() - make the key for an RDMA port of a connection's peer
 * @addr: the peer's address
 * @gid: GID of the port, 16 bytes
 *
 * The key includes the peer's address: a peer that names the GID of another host
 * affects only connections with its own address.
 */
struct smc_blackhole_key smc_blackhole_key_gid(struct in6_addr addr, const u8 *gid);

/**
 * smc_blackhole_is_on() - whether a namespace keeps blackhole entries
 * @sn: namespace; its net.smc.blackhole_timeout is the answer
 */
bool smc_blackhole_is_on(const struct smc_net *sn);

/**
 * smc_blackhole_note() - add an entry for a server or GID, or renew it
 * @sn: namespace whose socket has failed to use SMC
 * @key: the peer; a client needs smc_blackhole_note_client()
 * @event: SMC_BLACKHOLE_SYN_LOST and so on
 *
 * If the namespace has too many entries of this kind, one of them is removed: an
 * expired one, or else the oldest entry of the user or peer with the most
 * entries. Without memory nothing is added.
 *
 * Context: any but hard interrupt.
 */
void smc_blackhole_note(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event);

/**
 * smc_blackhole_note_client() - add an entry for a client, or renew it
 * @sn: namespace of the server's socket
 * @key: key that smc_blackhole_key_client() has made
 * @event: SMC_BLACKHOLE_NO_PROPOSAL
 *
 * Nothing is added if net.smc.blackhole_timeout is 0 or @key is of SMC_BLACKHOLE_NONE. Otherwise,
 * unless memory runs out or the namespace is ending, TCP does not see the SMC option in the
 * client's SYNs once this function has returned.
 *
 * Context: process, may sleep.
 */
void smc_blackhole_note_client(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event);

/**
 * smc_blackhole_has() - whether a peer has an entry that has not expired
 * @sn: namespace of the socket that is to use SMC
 * @key: key of any kind
 *
 * Context: any.
 */
bool smc_blackhole_has(const struct smc_net *sn, const struct smc_blackhole_key *key);

/**
 * smc_blackhole_forget() - remove the entry of a peer with which SMC works again
 * @sn: namespace of the socket that uses SMC
 * @key: the peer, with or without an entry
 *
 * Context: any but hard interrupt.
 */
void smc_blackhole_forget(struct smc_net *sn, const struct smc_blackhole_key *key);

/**
 * smc_blackhole_flush() - remove all entries
 * @sn: namespace, which keeps the filter of SYNs
 *
 * Context: process.
 */
void smc_blackhole_flush(struct smc_net *sn);

/**
 * smc_blackhole_next() - get the next entry of a dump
 * @sn: namespace that the dump was requested in
 * @info: has the serial number of the previous entry, or 0; filled with the next entry
 *
 * Context: process.
 * Return: false if there is no further entry.
 */
bool smc_blackhole_next(const struct smc_net *sn, struct smc_blackhole_info *info);

/**
 * smc_blackhole_filter_begin() - start to filter the SYNs of a namespace
 * @net: namespace that has no such filter, which the caller keeps track of
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_blackhole_filter_begin(struct net *net);

/**
 * smc_blackhole_filter_end() - stop filtering SYNs
 * @net: namespace for which smc_blackhole_filter_begin() returned 0
 *
 * A SYN may still be in the filter for an RCU grace period.
 *
 * Context: process, may sleep.
 */
void smc_blackhole_filter_end(struct net *net);

/*
 * net.c calls these for each namespace. Between smc_blackhole_pre_exit_net() and
 * smc_blackhole_exit_net() lies an RCU grace period.
 */
int smc_blackhole_init_net(struct net *net);
void smc_blackhole_pre_exit_net(struct net *net);
void smc_blackhole_exit_net(struct net *net);

#endif
