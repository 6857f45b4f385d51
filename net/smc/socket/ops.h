/* SPDX-License-Identifier: GPL-2.0 */
/* The operations (struct proto_ops) of an SMC socket. */
#ifndef SMC_OPS_H
#define SMC_OPS_H

#include <linux/net.h>

struct sock;

/**
 * smc_ops_init() - derive SMC's operations from TCP's
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_ops_init(void);

/**
 * smc_ops_of_family() - get SMC's operations for an address family
 * @family: AF_INET or AF_INET6
 *
 * Context: any.
 * Return: NULL if the kernel has no TCP for @family.
 */
const struct proto_ops *smc_ops_of_family(int family);

/**
 * smc_tcp_ops() - get TCP's operations for an SMC socket
 * @sk: socket of AF_INET or AF_INET6
 *
 * Context: any.
 * Return: NULL if the kernel had no TCP for the socket's family when this module was loaded.
 */
const struct proto_ops *smc_tcp_ops(const struct sock *sk);

#endif
