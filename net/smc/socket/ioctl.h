/* SPDX-License-Identifier: GPL-2.0 */
/* What ioctl() and io_uring's commands that are like it count of a stream. */
#ifndef SMC_IOCTL_H
#define SMC_IOCTL_H

struct sock;
struct socket;

/**
 * smc_ioctl_init() - learn TCP's protocol, and derive ours
 * @tcp: a socket of TCP's, of either IP version
 */
void smc_ioctl_init(const struct sock *tcp);

/**
 * smc_ioctl() - the operation
 * @sock: socket
 * @cmd: request
 * @arg: its argument
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int smc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/**
 * smc_ioctl_hook() - have io_uring's commands ask the stream
 * @sk: socket, locked, with its sk_callback_lock. It does not listen, or its children would
 *	inherit this: smc_listen_begin() sees to it.
 *
 * They go to the protocol, past the socket's operations.
 */
void smc_ioctl_hook(struct sock *sk);

/**
 * smc_ioctl_unhook() - leave io_uring's commands to TCP
 * @sk: socket, locked, with its sk_callback_lock
 */
void smc_ioctl_unhook(struct sock *sk);

#endif
