/* SPDX-License-Identifier: GPL-2.0 */
/* net.smc.tcp2smc: new TCP sockets of a namespace's programs become SMC sockets. */
#ifndef SMC_TCP2SMC_H
#define SMC_TCP2SMC_H

void smc_tcp2smc_init(void);
void smc_tcp2smc_exit(void);

#endif
