/* SPDX-License-Identifier: GPL-2.0 */
/* Publishing over SMC-R, see struct smc_path_ops. */
#ifndef SMC_RDMA_PUBLISH_H
#define SMC_RDMA_PUBLISH_H

#include <linux/types.h>

struct smc_cdc;
struct smc_rdma_conn;
struct smc_stream;

/**
 * smc_rdma_publish() - implement ->publish() of struct smc_path_ops
 * @st: stream of a connection over SMC-R
 * @end: position where the publish ends
 * @cdc: message to the peer
 */
int smc_rdma_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc);

/**
 * smc_rdma_conn_limit() - set the largest size of the next publish, by the state of the link
 * @conn: connection. The caller holds its lock, or handles the completion of its message
 *
 * Context: any.
 */
void smc_rdma_conn_limit(struct smc_rdma_conn *conn);

#endif
