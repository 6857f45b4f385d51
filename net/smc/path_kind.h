/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two kinds of path, and the two roles in SMC's handshake. All layers and the
 * statistics use these names.
 */
#ifndef SMC_PATH_KIND_H
#define SMC_PATH_KIND_H

enum smc_path_kind {
	SMC_PATH_R,		/* RDMA */
	SMC_PATH_D,		/* memory inside the host */
	SMC_N_PATHS,
};

/* The values are those of SMC_NLA_LGR_R_ROLE and smc_diag_lgrinfo.role. */
enum smc_role {
	SMC_CLIENT,
	SMC_SERVER,
	SMC_N_ROLES,
};

#endif
