/* SPDX-License-Identifier: GPL-2.0 */
/* Byte counts of a stream, for ioctl() and for the same requests by io_uring. */
#ifndef SMC_IOCTL_H
#define SMC_IOCTL_H

struct sock;
struct socket;

/**
 * smc_ioctl() - answer ioctl(), as an operation of struct proto_ops
 * @sock: socket with this module's operations, in any state
 * @cmd: request; TCP answers those that are not about the bytes of a stream
 * @arg: address for the result
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int smc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/**
 * smc_ioctl_sk() - get the value of a socket's stream that an ioctl() asks for
 * @sk: socket whose file is open, in any state
 * @cmd: SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK, or another request
 *
 * Return: the value, or -ENOIOCTLCMD if TCP is to answer the request.
 */
int smc_ioctl_sk(const struct sock *sk, unsigned int cmd);

#endif
