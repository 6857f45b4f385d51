/* SPDX-License-Identifier: GPL-2.0 */
/* sock_diag for AF_SMC: the sockets that "smc sock" and other tools show. */
#ifndef SMC_DIAG_H
#define SMC_DIAG_H

int smc_diag_init(void);
void smc_diag_exit(void);

#endif
