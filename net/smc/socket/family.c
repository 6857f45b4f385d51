// SPDX-License-Identifier: GPL-2.0
/* Creation of SMC sockets: each is a TCP socket with this module's operations. */

#include <net/inet_common.h>
#include <net/protocol.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include "compat.h"
#include "family.h"
#include "ops.h"

/* Protocols that socket() accepts for AF_SMC. */
enum { SMC_PROTO_IPV4 = 0, SMC_PROTO_IPV6 = 1 };

/* Creates a TCP socket, and moves its struct sock to @sock. */
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
	/* As with TCP, io_uring may send without copying. */
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
 * The protocol IPPROTO_SMC has a copy of TCP's struct proto. The copy's init operation gives a new
 * sock TCP's own struct proto and protocol number. So for packets and for the rest of the kernel,
 * the socket is TCP's.
 */
static struct smc_protocol {
	struct proto *tcp;
	struct proto smc;
	struct inet_protosw sw;
} smc_ipv4, smc_ipv6;

static int smc_init_sock(struct sock *sk)
{
	struct proto *tcp = container_of(sk->sk_prot, struct smc_protocol, smc)->tcp;

	sk->sk_protocol = IPPROTO_TCP;
	WRITE_ONCE(sk->sk_prot, tcp);
	return tcp->init(sk);
}

static void smc_protocol_init(struct smc_protocol *protocol, struct proto *tcp, int family)
{
	protocol->tcp = tcp;
	protocol->smc = *tcp;
	protocol->smc.owner = THIS_MODULE;
	protocol->smc.init = smc_init_sock;
	protocol->sw = (struct inet_protosw) {
		.type	  = SOCK_STREAM,
		.protocol = IPPROTO_SMC,
		.prot	  = &protocol->smc,
		.ops	  = smc_ops_of_family(family),
		.flags	  = INET_PROTOSW_ICSK,
	};
}

static int smc_ipv6_register(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (smc_ops_of_family(AF_INET6)) {
		smc_protocol_init(&smc_ipv6, &tcpv6_prot, AF_INET6);
		return inet6_register_protosw(&smc_ipv6.sw);
	}
#endif
	return 0;
}

static void smc_ipv6_unregister(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (smc_ipv6.sw.ops)
		inet6_unregister_protosw(&smc_ipv6.sw);
#endif
}

bool smc_family_adopt(struct sock *sk)
{
	struct module *owner = sk->sk_prot_creator->owner;

	if (!try_module_get(THIS_MODULE))
		return false;
	sk->sk_prot_creator = sk->sk_family == AF_INET6 ? &smc_ipv6.smc : &smc_ipv4.smc;
	module_put(owner);
	return true;
}

void smc_family_to_tcp(struct sock *sk)
{
	struct proto *tcp = READ_ONCE(sk->sk_prot);

	sock_owned_by_me(sk);
	if (sk->sk_prot_creator->owner != THIS_MODULE)
		return;
	__module_get(tcp->owner);
	sk->sk_prot_creator = tcp;
	module_put(THIS_MODULE);
}

int smc_family_init(void)
{
	int rc;

	smc_protocol_init(&smc_ipv4, &tcp_prot, AF_INET);
	inet_register_protosw(&smc_ipv4.sw);
	rc = smc_ipv6_register();
	if (rc)
		goto err_ipv4;
	rc = sock_register(&smc_family);
	if (rc)
		goto err_ipv6;
	return 0;

err_ipv6:
	smc_ipv6_unregister();
err_ipv4:
	inet_unregister_protosw(&smc_ipv4.sw);
	return rc;
}

void smc_family_exit(void)
{
	sock_unregister(PF_SMC);
	smc_ipv6_unregister();
	inet_unregister_protosw(&smc_ipv4.sw);
}

MODULE_ALIAS_NETPROTO(PF_SMC);
/* The macro needs numbers: 256 is IPPROTO_SMC and 1 is SOCK_STREAM, which are enums. */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 256, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 256, 1);
