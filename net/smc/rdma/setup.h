/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Setting up a connection over SMC-R: the steps between the CLC messages, as client
 * and as server (RFC 7609 section 3.5). A step returns 0 or the diagnosis code that a
 * DECLINE is to carry.
 */
#ifndef SMC_RDMA_SETUP_H
#define SMC_RDMA_SETUP_H

#include <linux/list.h>

#include "device.h"
#include "group.h"
#include "llc.h"
#include "wire/clc.h"

/**
 * struct smc_rdma_setup - a connection being set up
 * @net: network namespace
 * @version: of SMC, as chosen
 * @port: local port, referenced while @has_port
 * @has_port: @port is valid
 * @peer: identity of the peer
 * @gateway: MAC address of the router to the peer, while @is_routed
 * @is_routed: the peer is not on this link; version 2
 * @eid: agreed on, version 2
 * @rmb_class: size class wanted for what is received
 * @mirror_class: and for what is sent
 * @memcg: control group to charge for them, or NULL
 * @sk: TCP socket
 * @call_off: ends the wait for a link to be confirmed; to be set
 * @called_off: it did
 * @exposed: the peer was told of the element here, and may believe that it is connected
 * @first_contact: the group is made for this connection
 * @group: that one, referenced, until it is complete
 * @conn: the connection, its stream referenced
 * @contact: in the list of first contacts under way, as server
 */
struct smc_rdma_setup {
	struct net *net;
	u8 version;
	struct smc_rdma_port port;
	bool has_port;
	struct smc_peer peer;
	u8 gateway[SMC_MAC_LEN];
	bool is_routed;
	u8 eid[SMC_EID_LEN];
	u8 rmb_class;
	u8 mirror_class;
	struct mem_cgroup *memcg;
	const struct sock *sk;
	struct smc_call_off call_off;
	bool called_off;
	bool exposed;
	bool first_contact;
	struct smc_group *group;
	struct smc_rdma_conn *conn;
	struct list_head contact;
};

/**
 * smc_rdma_setup_init() - start with what the socket wants
 * @s: setup
 * @sk: TCP socket; its buffer sizes choose the size classes
 * @memcg: control group to charge for buffers, or NULL; lives as long as the setup
 */
void smc_rdma_setup_init(struct smc_rdma_setup *s, struct sock *sk, struct mem_cgroup *memcg);

/**
 * smc_rdma_server_reserve() - before ACCEPT: a group and an element
 * @s: with version, port, peer and EID set
 *
 * First contacts of one peer follow one another; those of different peers do not wait.
 *
 * Context: process, may sleep.
 */
u32 smc_rdma_server_reserve(struct smc_rdma_setup *s);

/**
 * smc_rdma_server_complete() - after CONFIRM: the connection is usable
 * @s: setup
 * @confirm: the client's CONFIRM
 */
u32 smc_rdma_server_complete(struct smc_rdma_setup *s, const struct smc_clc_agreement *confirm);

/**
 * smc_rdma_client_join() - after ACCEPT, before CONFIRM
 * @s: setup
 * @accept: the server's ACCEPT
 */
u32 smc_rdma_client_join(struct smc_rdma_setup *s, const struct smc_clc_agreement *accept);

/**
 * smc_rdma_client_complete() - after CONFIRM: the connection is usable
 * @s: setup
 */
u32 smc_rdma_client_complete(struct smc_rdma_setup *s);

/**
 * smc_rdma_setup_learn() - take note of what the peer says of a first contact that failed
 * @s: setup, also after smc_rdma_setup_end()
 * @peer_reason: diagnosis of its DECLINE, or 0
 *
 * Only one end of a link that leads nowhere may have waited long enough to find that out.
 */
void smc_rdma_setup_learn(const struct smc_rdma_setup *s, u32 peer_reason);

/**
 * smc_rdma_setup_end() - release what the setup holds
 * @s: setup
 * @keep: the connection stays, its reference the caller's
 */
void smc_rdma_setup_end(struct smc_rdma_setup *s, bool keep);

#endif
