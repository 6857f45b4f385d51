/* SPDX-License-Identifier: GPL-2.0 */
/* Initialisation and exit of the SMC-D path. */
#ifndef SMC_ISM_ISM_H
#define SMC_ISM_ISM_H

struct smc_path_type;

extern const struct smc_path_type smc_ism_path;

void smc_ism_init(void);
void smc_ism_exit(void);

#endif
