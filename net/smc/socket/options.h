/* SPDX-License-Identifier: GPL-2.0 */
/* Socket options of SMC, and TCP's that SMC can't keep. */
#ifndef SMC_OPTIONS_H
#define SMC_OPTIONS_H

#include <linux/sockptr.h>

struct sock;
struct socket;

/**
 * smc_serves_only_tcp() - whether a listener has an option, or a past, that only TCP can keep
 * @sk: socket, locked
 *
 * Context: process.
 */
bool smc_serves_only_tcp(const struct sock *sk);

/**
 * smc_wants_only_tcp() - whether a client has
 * @sk: socket, locked
 *
 * Context: process.
 */
bool smc_wants_only_tcp(const struct sock *sk);

/**
 * smc_option_begin() - before TCP is asked to set an option
 * @sk: socket
 * @level: SOL_*
 * @optname: option
 *
 * An option that changes TCP's connection is refused while the bytes go by SMC. Until
 * smc_option_end(), connections that the socket begins are TCP.
 *
 * Context: process, without the socket lock.
 * Return: 0, and smc_option_end() is to be called; or -EOPNOTSUPP, -EINVAL or -ENOMEM.
 */
int smc_option_begin(struct sock *sk, int level, int optname);

/**
 * smc_option_end() - after that, whether TCP has set it or refused
 * @sk: socket
 * @level: SOL_*
 * @optname: option
 *
 * Context: process, without the socket lock.
 */
void smc_option_end(struct sock *sk, int level, int optname);

/**
 * smc_option_set_ulp() - TCP_ULP, between smc_option_begin() and smc_option_end()
 * @sock: socket
 * @optval: name
 * @optlen: its length
 *
 * Context: process, without the socket lock.
 * Return: as TCP does; -EOPNOTSUPP for one that would take the socket from this module.
 */
int smc_option_set_ulp(struct socket *sock, sockptr_t optval, unsigned int optlen);

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
