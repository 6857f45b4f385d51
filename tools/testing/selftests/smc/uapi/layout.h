/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by a C and by a C++ file: the headers compile as both and alone, and their
 * layout is the one on every architecture that aligns u64 to eight bytes.
 */
#include <linux/smc.h>
#include <linux/smc_diag.h>

#ifdef __cplusplus
#define CHECK(what) static_assert(what, #what)
#else
#define CHECK(what) _Static_assert(what, #what)
#endif

CHECK(sizeof(struct smc_diag_req) == 52);
CHECK(sizeof(struct smc_diag_msg) == 64);
CHECK(sizeof(struct smc_diag_cursor) == 8);
CHECK(sizeof(struct smc_diag_conninfo) == 76);
CHECK(sizeof(struct smc_diag_linkinfo) == 146);
CHECK(sizeof(struct smc_diag_lgrinfo) == 147);
CHECK(sizeof(struct smc_diag_fallback) == 8);
CHECK(sizeof(struct smcd_diag_dmbinfo) == 56);
CHECK(SMC_GEN_MAX == 8);
CHECK(SMC_DIAG_MAX == 5);
