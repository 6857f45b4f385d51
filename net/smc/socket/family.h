/* SPDX-License-Identifier: GPL-2.0 */
/* How programs ask for an SMC socket: AF_SMC, and IPPROTO_SMC of AF_INET and AF_INET6. */
#ifndef SMC_FAMILY_H
#define SMC_FAMILY_H

int smc_family_init(void);
void smc_family_exit(void);

#endif
