/* SPDX-License-Identifier: GPL-2.0 */
/* How programs ask for an SMC socket: AF_SMC, and IPPROTO_SMC of AF_INET and AF_INET6. */
#ifndef SMC_FAMILY_H
#define SMC_FAMILY_H

struct sock;

/**
 * smc_family_settle() - have a socket be one of TCP's own
 * @sk: socket, locked, whose file is open and so holds this module
 *
 * The struct sock of a socket that was made as IPPROTO_SMC holds this module too, and so
 * would what TCP leaves of it in TIME_WAIT, for a minute.
 */
void smc_family_settle(struct sock *sk);

int smc_family_init(void);
void smc_family_exit(void);

#endif
