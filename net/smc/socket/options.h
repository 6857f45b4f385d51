/* SPDX-License-Identifier: GPL-2.0 */
/* Socket options of SMC, and TCP's options that SMC doesn't support. */
#ifndef SMC_OPTIONS_H
#define SMC_OPTIONS_H

#include <linux/sockptr.h>

struct sock;
struct socket;

/**
 * smc_option_begin() - prepare for a setsockopt() that TCP will handle
 * @sk: socket whose file is open, in any state
 * @level: SOL_*
 * @optname: option of @level, which the caller has not handled itself
 *
 * An option that replaces the socket's operations is refused for every socket. An option that
 * changes the TCP connection is refused while SMC carries the data, or may do so once the handshake
 * under way is over. While such an option is being set, until smc_option_end(), connections that
 * the socket begins are TCP's.
 *
 * Context: process, without the socket lock.
 * Return: 0, if smc_option_end() is to be called; -ENOENT, -EOPNOTSUPP, -EINVAL, -EPERM or
 * -ENOMEM.
 */
int smc_option_begin(struct sock *sk, int level, int optname);

/**
 * smc_option_end() - finish after TCP has set or refused the option
 * @sk: socket for which smc_option_begin() returned 0
 * @level: SOL_*
 * @optname: option that smc_option_begin() got
 *
 * Context: process, without the socket lock.
 */
void smc_option_end(struct sock *sk, int level, int optname);

/**
 * smc_setsockopt_smc() - set an option of level SOL_SMC
 * @sk: socket whose file is open, in any state
 * @optname: SMC_*
 * @optval: an int, read before the socket is locked
 * @optlen: length of @optval in bytes
 *
 * Context: process, without the socket lock.
 * Return: 0, -ENOPROTOOPT, -EINVAL, -EFAULT or -ENOMEM.
 */
int smc_setsockopt_smc(struct sock *sk, int optname, sockptr_t optval, unsigned int optlen);

/**
 * smc_getsockopt_smc() - get an option of level SOL_SMC
 * @sk: socket whose file is open, in any state
 * @optname: SMC_*
 * @optval: filled
 * @optlen: size of @optval in bytes; on return the number of bytes filled
 *
 * Context: process, without the socket lock.
 * Return: 0, -ENOPROTOOPT, -EINVAL or -EFAULT.
 */
int smc_getsockopt_smc(struct sock *sk, int optname, char __user *optval, int __user *optlen);

#endif
