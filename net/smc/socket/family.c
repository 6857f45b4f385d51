// SPDX-License-Identifier: GPL-2.0
/* Creation of SMC sockets: each is a TCP socket with this module's operations. */

#include <net/inet_common.h>
#include <net/protocol.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "compat.h"
#include "family.h"
#include "ops.h"

/* Protocols of AF_SMC. */
enum { SMC_PROTO_IPV4 = 0, SMC_PROTO_IPV6 = 1 };

/* Create a TCP socket, and move its struct sock to @sock. */
static int smc_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct socket *tcp;
	int family, rc;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != SMC_PROTO_IPV4 && protocol != SMC_PROTO_IPV6)
		return -EPROTONOSUPPORT;

	family = protocol == SMC_PROTO_IPV6 ? AF_INET6 : AF_INET;
	if (!smc_ops_of_family(family))
		return -EAFNOSUPPORT;
	rc = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &tcp, kern);
	if (rc)
		return rc;

	sock->ops = smc_ops_of_family(family);
	sock->state = SS_UNCONNECTED;
	/* Keep io_uring's zero-copy support of the TCP socket. */
	if (test_bit(SOCK_SUPPORT_ZC, &tcp->flags))
		set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	sock_graft(tcp->sk, sock);
	tcp->sk = NULL;
	sock_release(tcp);
	return 0;
}

static const struct net_proto_family smc_family = {
	.family	= PF_SMC,
	.owner	= THIS_MODULE,
	.create	= smc_create,
};

/*
 * IPPROTO_SMC: copies of TCP's protocols, whose init operation makes the socket a TCP
 * socket. So it is TCP's on the wire and for every other part of the kernel.
 */
static struct proto smc_prot4, smc_prot6;

static int smc_init_sock4(struct sock *sk)
{
	sk->sk_protocol = IPPROTO_TCP;
	WRITE_ONCE(sk->sk_prot, &tcp_prot);
	return tcp_prot.init(sk);
}

static struct inet_protosw smc_protosw4 = {
	.type	  = SOCK_STREAM,
	.protocol = IPPROTO_SMC,
	.prot	  = &smc_prot4,
	.flags	  = INET_PROTOSW_ICSK,
};

#if IS_ENABLED(CONFIG_IPV6)
static int smc_init_sock6(struct sock *sk)
{
	sk->sk_protocol = IPPROTO_TCP;
	WRITE_ONCE(sk->sk_prot, &tcpv6_prot);
	return tcpv6_prot.init(sk);
}

static struct inet_protosw smc_protosw6 = {
	.type	  = SOCK_STREAM,
	.protocol = IPPROTO_SMC,
	.prot	  = &smc_prot6,
	.flags	  = INET_PROTOSW_ICSK,
};

static int smc_protosw6_register(void)
{
	if (!smc_ops_of_family(AF_INET6))
		return 0;
	smc_prot6 = tcpv6_prot;
	smc_prot6.owner = THIS_MODULE;
	smc_prot6.init = smc_init_sock6;
	smc_protosw6.ops = smc_ops_of_family(AF_INET6);
	return inet6_register_protosw(&smc_protosw6);
}

static void smc_protosw6_unregister(void)
{
	if (smc_protosw6.ops)
		inet6_unregister_protosw(&smc_protosw6);
}
#else
static int smc_protosw6_register(void)
{
	return 0;
}

static void smc_protosw6_unregister(void)
{
}
#endif

bool smc_family_adopt(struct sock *sk)
{
	struct module *owner = sk->sk_prot_creator->owner;

	if (!try_module_get(THIS_MODULE))
		return false;
	sk->sk_prot_creator = sk->sk_family == AF_INET6 ? &smc_prot6 : &smc_prot4;
	module_put(owner);
	return true;
}

void smc_family_to_tcp(struct sock *sk)
{
	struct proto *tcp = READ_ONCE(sk->sk_prot);

	if (sk->sk_prot_creator->owner != THIS_MODULE)
		return;
	__module_get(tcp->owner);
	sk->sk_prot_creator = tcp;
	module_put(THIS_MODULE);
}

int smc_family_init(void)
{
	int rc;

	smc_prot4 = tcp_prot;
	smc_prot4.owner = THIS_MODULE;
	smc_prot4.init = smc_init_sock4;
	smc_protosw4.ops = smc_ops_of_family(AF_INET);
	inet_register_protosw(&smc_protosw4);

	rc = smc_protosw6_register();
	if (rc)
		goto err_protosw4;
	rc = sock_register(&smc_family);
	if (rc)
		goto err_protosw6;
	return 0;

err_protosw6:
	smc_protosw6_unregister();
err_protosw4:
	inet_unregister_protosw(&smc_protosw4);
	return rc;
}

void smc_family_exit(void)
{
	sock_unregister(PF_SMC);
	smc_protosw6_unregister();
	inet_unregister_protosw(&smc_protosw4);
}

MODULE_ALIAS_NETPROTO(PF_SMC);
/* The macro needs numbers: 256 is IPPROTO_SMC and 1 is SOCK_STREAM, which are enums. */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 256, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 256, 1);
