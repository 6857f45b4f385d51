/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Setting up a connection over SMC-D: the steps between the CLC messages. A step returns
 * 0 or the diagnosis code that a DECLINE is to carry.
 */
#ifndef SMC_ISM_SETUP_H
#define SMC_ISM_SETUP_H

#include "group.h"
#include "wire/clc.h"

struct mem_cgroup;
struct smc_ism_conn;
struct sock;

/**
 * struct smc_ism_setup - a connection being set up
 * @peer: who it is with, as the rendezvous found out
 * @memcg: control group to charge for the element, or NULL
 * @size_class: wanted for the element
 * @first_contact: the group is made for this connection
 * @in_hurry: rather fail than wait for memory, or make a group
 * @conn: the connection, its stream referenced
 */
struct smc_ism_setup {
	struct smc_ism_peer peer;
	struct mem_cgroup *memcg;
	u8 size_class;
	bool first_contact;
	bool in_hurry;
	struct smc_ism_conn *conn;
};

/**
 * smc_ism_setup_init() - start with what the socket wants
 * @s: setup
 * @sk: TCP socket; its buffer size chooses the size class
 * @memcg: control group to charge for buffers, or NULL; lives as long as the setup
 */
void smc_ism_setup_init(struct smc_ism_setup *s, struct sock *sk, struct mem_cgroup *memcg);

/**
 * smc_ism_setup_reach() - find the device that shares memory with the peer's
 * @s: setup; what the peer is known by is noted there, but for the EID
 * @role: of this end
 * @version: that both would speak
 * @name: the peer's device, as its message names it
 *
 * Return: false if there is none.
 */
bool smc_ism_setup_reach(struct smc_ism_setup *s, enum smc_role role, u8 version,
			 const struct smc_clc_ism *name);

/**
 * smc_ism_setup_reach_host() - the same for a peer that is known to have this kernel's memory
 * @s: setup
 * @role: of this end; both speak version 2
 */
void smc_ism_setup_reach_host(struct smc_ism_setup *s, enum smc_role role);

/**
 * smc_ism_server_reserve() - before ACCEPT: a group and an element
 * @s: with @peer set
 *
 * Context: process, may sleep.
 */
u32 smc_ism_server_reserve(struct smc_ism_setup *s);

/**
 * smc_ism_server_complete() - after CONFIRM: the connection is usable
 * @s: setup
 * @confirm: the client's CONFIRM
 */
u32 smc_ism_server_complete(struct smc_ism_setup *s, const struct smc_clc_agreement *confirm);

/**
 * smc_ism_client_join() - after ACCEPT: the connection is usable once CONFIRM is sent
 * @s: with the EID of @peer set
 * @accept: the server's ACCEPT
 */
u32 smc_ism_client_join(struct smc_ism_setup *s, const struct smc_clc_agreement *accept);

/**
 * smc_ism_setup_pair() - all steps of both ends, if that takes no new memory, and no first contact
 * @client: with @peer set
 * @server: with @peer set
 *
 * Context: process, may sleep.
 * Return: whether they came together. If not, both are to be ended.
 */
bool smc_ism_setup_pair(struct smc_ism_setup *client, struct smc_ism_setup *server);

/**
 * smc_ism_setup_end() - release what the setup holds
 * @s: setup
 * @keep: the connection stays, its reference the caller's
 */
void smc_ism_setup_end(struct smc_ism_setup *s, bool keep);

#endif
