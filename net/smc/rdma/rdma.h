/* SPDX-License-Identifier: GPL-2.0 */
/* Initialisation and shutdown of SMC-R. */
#ifndef SMC_RDMA_H
#define SMC_RDMA_H

struct smc_path_type;

extern const struct smc_path_type smc_rdma_path;

int smc_rdma_init(void);
void smc_rdma_exit(void);

#endif
