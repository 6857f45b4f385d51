/* SPDX-License-Identifier: GPL-2.0 */
/* How programs ask for an SMC socket: AF_SMC, and IPPROTO_SMC of AF_INET and AF_INET6. */
#ifndef SMC_FAMILY_H
#define SMC_FAMILY_H

#include <linux/types.h>

struct sock;

/**
 * smc_family_adopt() - have the struct sock of a socket that is being made hold this module
 * @sk: a new sock of TCP's that nobody else knows
 *
 * That of a socket which is made as IPPROTO_SMC does so anyway. The module stays until socket() has
 * a reference for the operations, and whether or not it gets that far.
 *
 * Context: any.
 * Return: false if the module is going.
 */
bool smc_family_adopt(struct sock *sk);

/**
 * smc_family_settle() - have a socket be one of TCP's own
 * @sk: socket, locked, whose file is open and so holds this module
 *
 * The struct sock of a new socket holds this module too, and so would what TCP leaves of it in
 * TIME_WAIT, for a minute.
 */
void smc_family_settle(struct sock *sk);

int smc_family_init(void);
void smc_family_exit(void);

#endif
