/* SPDX-License-Identifier: GPL-2.0 */
/* SMC sockets: family AF_SMC, or protocol IPPROTO_SMC of AF_INET and AF_INET6. */
#ifndef SMC_FAMILY_H
#define SMC_FAMILY_H

#include <linux/types.h>

struct sock;

/**
 * smc_family_adopt() - make the struct sock of a new socket hold this module
 * @sk: new TCP sock that no other thread knows yet
 *
 * A sock holds a reference to the module that owns its sk_prot_creator. For an IPPROTO_SMC socket,
 * this module is the owner from the beginning. For any other socket, this function changes
 * sk_prot_creator. So this module stays until socket() has taken a reference for the operations. If
 * socket() fails before that, freeing the sock drops the sock's reference.
 *
 * Context: any.
 * Return: false if the module is being unloaded.
 */
bool smc_family_adopt(struct sock *sk);

/**
 * smc_family_to_tcp() - let the struct sock of a socket hold TCP's module again
 * @sk: socket, locked, whose file is open and so holds this module
 *
 * When the connection ends, TCP may leave a small sock in TIME_WAIT, which takes a reference to the
 * same module as this sock. If that were this module, it could not be unloaded for a minute.
 */
void smc_family_to_tcp(struct sock *sk);

int smc_family_init(void);
void smc_family_exit(void);

#endif
