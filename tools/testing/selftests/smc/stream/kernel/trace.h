/* SPDX-License-Identifier: GPL-2.0 */
/* In place of net/smc/trace.h: nobody traces a test. */
#ifndef SMC_TEST_TRACE_H
#define SMC_TEST_TRACE_H

#define trace_smc_publish(st, cdc)	do { } while (0)
#define trace_smc_rx_recvmsg(st, len)	do { } while (0)
#define trace_smc_stream_state(state)	do { } while (0)
#define trace_smc_tx_sendmsg(st, len)	do { } while (0)
#define trace_smc_update(st, cdc)	do { } while (0)

#endif
