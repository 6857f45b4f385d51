/* SPDX-License-Identifier: GPL-2.0 */
/* The SMC-R path as a whole. */
#ifndef SMC_RDMA_H
#define SMC_RDMA_H

int smc_rdma_init(void);
void smc_rdma_exit(void);

#endif
