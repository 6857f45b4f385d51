// SPDX-License-Identifier: GPL-2.0
/*
 * The supported kernels have no hook in common that could change new TCP sockets. But every new TCP
 * socket passes tcp_init_sock() when it is complete but not in use yet. A kprobe at the entry of
 * that function gives the socket this module's operations, if the namespace has tcp2smc set. The
 * probe is based on ftrace, and therefore cheap. It is placed when the host sets the sysctl for the
 * first time, and stays until the module is unloaded: the root of a container must not be able to
 * patch kernel text.
 */

#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <net/sock.h>

#include "admin/net.h"
#include "admin/sysctl.h"
#include "family.h"
#include "ops.h"
#include "tcp2smc.h"

/* The thread that tests whether the probe works, or NULL. */
static struct task_struct *smc_tcp2smc_test_task;
/* The probe has seen the test. */
static bool smc_tcp2smc_test_hit;

static bool smc_tcp2smc_is_enabled(const struct sock *sk)
{
	return !sk->sk_kern_sock && sk->sk_socket &&
	       READ_ONCE(smc_net(sock_net(sk))->sysctl.tcp2smc);
}

/*
 * Context: preemption off. After the probe has set the operations, the creating thread may be
 * preempted before it takes a module reference for them. So the sock takes a reference here. While
 * the module is being unloaded, no reference is possible, and the socket stays TCP's.
 */
static int smc_tcp2smc_probe(struct kprobe *probe, struct pt_regs *regs)
{
	struct sock *sk = (struct sock *)regs_get_kernel_argument(regs, 0);
	struct socket *sock;

	if (READ_ONCE(smc_tcp2smc_test_task) == current)
		WRITE_ONCE(smc_tcp2smc_test_hit, true);
	if (!smc_tcp2smc_is_enabled(sk))
		return 0;
	sock = sk->sk_socket;
	if (sock->ops && sock->ops == smc_tcp_ops(sk) && smc_family_adopt(sk))
		sock->ops = smc_ops_of_family(sk->sk_family);
	return 0;
}

static struct kprobe smc_tcp2smc_kprobe = {
	.symbol_name = "tcp_init_sock",
	.pre_handler = smc_tcp2smc_probe,
};

static bool smc_tcp2smc_is_placed;

/*
 * Tests the probe by creating a socket. Probes may be disabled, for example by
 * kernel.ftrace_enabled, but register_kprobe() doesn't report that.
 */
static int smc_tcp2smc_try(void)
{
	struct socket *sock;
	int rc;

	WRITE_ONCE(smc_tcp2smc_test_hit, false);
	WRITE_ONCE(smc_tcp2smc_test_task, current);
	rc = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	WRITE_ONCE(smc_tcp2smc_test_task, NULL);
	if (rc)
		return rc;
	sock_release(sock);
	return READ_ONCE(smc_tcp2smc_test_hit) ? 0 : -EOPNOTSUPP;
}

static int smc_tcp2smc_place(void)
{
	int rc;

	if (smc_tcp2smc_is_placed)
		return 0;
	/*
	 * If register_kprobe() failed before, it has left the address set. Clear it, because
	 * register_kprobe() refuses a kprobe that has both an address and a symbol.
	 */
	smc_tcp2smc_kprobe.addr = NULL;
	rc = register_kprobe(&smc_tcp2smc_kprobe);
	smc_tcp2smc_is_placed = !rc;
	return rc;
}

/*
 * Called with tcp2smc_lock. Only the host's administrator may cause the call, because the test
 * allocates memory, and a container's thread could stall meanwhile with the lock held.
 */
static int smc_tcp2smc_enable(void)
{
	int rc = smc_tcp2smc_place();

	return rc ? rc : smc_tcp2smc_try();
}

void smc_tcp2smc_init(void)
{
	smc_sysctl_set_tcp2smc_hook(smc_tcp2smc_enable);
}

void smc_tcp2smc_exit(void)
{
	smc_sysctl_set_tcp2smc_hook(NULL);
	if (smc_tcp2smc_is_placed)
		unregister_kprobe(&smc_tcp2smc_kprobe);
}
