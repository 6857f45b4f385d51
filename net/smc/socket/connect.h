/* SPDX-License-Identifier: GPL-2.0 */
/* connect() of an SMC socket. */
#ifndef SMC_CONNECT_H
#define SMC_CONNECT_H

struct smc_sock;
struct sock;
struct sockaddr;
struct socket;
struct timer_list;

/**
 * smc_connect() - connect a socket, as an operation of struct proto_ops
 * @sock: socket with this module's operations, in any state
 * @addr: address of the server
 * @len: bytes in @addr
 * @flags: O_NONBLOCK, of the socket's file
 *
 * Context: process, without the socket lock.
 * Return: 0 or -errno, as TCP's connect().
 */
int smc_connect(struct socket *sock, struct sockaddr *addr, int len, int flags);

/**
 * smc_connect_forget_listener() - unhook a socket that has listened, because TCP is about to
 * connect it
 * @sk: socket, locked
 *
 * Context: process; may sleep.
 */
void smc_connect_forget_listener(struct sock *sk);

/**
 * smc_connect_timer() - leave the SMC option out of later SYNs if the SYNs so far got no answer
 * @timer: timer @syn of a socket in SMC_MODE_CONNECTING
 *
 * Context: softirq.
 */
void smc_connect_timer(struct timer_list *timer);

/**
 * smc_connect_tcp_done() - go on with SMC's part of connect(), if TCP's handshake has ended
 * @smc: socket in SMC_MODE_CONNECTING; TCP has reported a change of its state
 *
 * After a failure or an abort the socket is unhooked. Otherwise SMC's handshake begins if the peer
 * awaits it, and if not, the socket falls back.
 *
 * Context: TCP has locked the socket and calls sk_state_change.
 */
void smc_connect_tcp_done(struct smc_sock *smc);

/**
 * smc_wait_connected() - wait for TCP's handshake and SMC's to end
 * @smc: socket whose file is open
 * @timeo: jiffies; 0: do not wait
 *
 * Context: process, without the socket lock.
 * Return: 0; -EAGAIN after @timeo; or a signal's errno.
 */
int smc_wait_connected(struct smc_sock *smc, long timeo);

#endif
