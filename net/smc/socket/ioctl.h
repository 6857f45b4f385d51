/* SPDX-License-Identifier: GPL-2.0 */
/* Byte counts of a stream, for ioctl() and for the same requests by io_uring. */
#ifndef SMC_IOCTL_H
#define SMC_IOCTL_H

struct sock;
struct socket;

/**
 * smc_ioctl() - the operation
 * @sock: socket
 * @cmd: request
 * @arg: pointer for the result
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int smc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/**
 * smc_ioctl_sk() - what an ioctl() counts
 * @sk: socket
 * @cmd: request
 *
 * Return: the count, or -ENOIOCTLCMD if TCP has the answer.
 */
int smc_ioctl_sk(const struct sock *sk, unsigned int cmd);

#endif
