/* SPDX-License-Identifier: GPL-2.0 */
/* Socket options of SMC, and TCP's that SMC can't keep. */
#ifndef SMC_OPTIONS_H
#define SMC_OPTIONS_H

#include <linux/sockptr.h>

struct sock;

/**
 * smc_option_check() - whether an option may be set
 * @sk: socket
 * @level: SOL_*
 * @optname: option
 *
 * An option that only TCP can honour makes a socket that is not yet connected
 * use TCP; on a connection over SMC it is refused.
 *
 * Context: process, without the socket lock.
 * Return: 0 or -EOPNOTSUPP.
 */
int smc_option_check(struct sock *sk, int level, int optname);

/**
 * smc_setsockopt_smc() - set an option of level SOL_SMC
 * @sk: socket
 * @optname: SMC_*
 * @optval: value
 * @optlen: bytes in @optval
 *
 * Context: process, without the socket lock.
 * Return: 0, -ENOPROTOOPT, -EINVAL, -EFAULT or -ENOMEM.
 */
int smc_setsockopt_smc(struct sock *sk, int optname, sockptr_t optval, unsigned int optlen);

/**
 * smc_getsockopt_smc() - get one
 * @sk: socket
 * @optname: SMC_*
 * @optval: filled
 * @optlen: bytes in @optval; bytes filled, on return
 *
 * Context: process, without the socket lock.
 * Return: 0, -ENOPROTOOPT, -EINVAL or -EFAULT.
 */
int smc_getsockopt_smc(struct sock *sk, int optname, char __user *optval, int __user *optlen);

#endif
