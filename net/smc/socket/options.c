// SPDX-License-Identifier: GPL-2.0
/* Socket options. */

#include <linux/tcp.h>
#include <net/sock.h>

#include "compat.h"
#include "listener.h"
#include "options.h"
#include "smc_sock.h"
#include "tcp.h"

#include "../../../include/uapi/linux/smc.h"

/* Whether a TCP option changes the bytes of the TCP connection, or delays its SYN. */
static bool smc_tcp_option_is_of_tcp(int optname)
{
	switch (optname) {
	case TCP_FASTOPEN_CONNECT:
	case TCP_REPAIR:
	case TCP_MD5SIG:
	case TCP_MD5SIG_EXT:
		return true;
	/* Without TCP-AO the kernel doesn't know these options. */
	case TCP_AO_ADD_KEY:
	case TCP_AO_DEL_KEY:
	case TCP_AO_INFO:
	case TCP_AO_REPAIR:
		return IS_ENABLED(CONFIG_TCP_AO);
	default:
		return false;
	}
}

/*
 * Whether an option of any level changes the bytes or packets of the TCP connection, as an IPsec
 * policy does, or delays its SYN.
 */
static bool smc_option_is_of_tcp(const struct sock *sk, int level, int optname)
{
	switch (level) {
	case SOL_TCP:
		return smc_tcp_option_is_of_tcp(optname);
	case SOL_IP:
		return optname == IP_IPSEC_POLICY || optname == IP_XFRM_POLICY;
	case SOL_IPV6:
		return sk->sk_family == AF_INET6 &&
		       (optname == IPV6_IPSEC_POLICY || optname == IPV6_XFRM_POLICY);
	default:
		return false;
	}
}

/* Whether TCP permits an option to the namespace's administrator only. */
static bool smc_option_is_administrators(int level, int optname)
{
	return level != SOL_TCP || optname == TCP_REPAIR || optname == TCP_AO_REPAIR;
}

/*
 * Return: the error for an option that an SMC connection can't have. TCP's own errors take
 * precedence.
 */
static int smc_option_refusal(const struct sock *sk, int level, int optname)
{
	/* TCP permits TCP_FASTOPEN_CONNECT only before connect(). */
	if (level == SOL_TCP && optname == TCP_FASTOPEN_CONNECT)
		return -EINVAL;
	if (smc_option_is_administrators(level, optname) &&
	    !sockopt_ns_capable(sock_net(sk)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return -EOPNOTSUPP;
}

static int smc_option_admit(struct smc_sock *smc, int level, int optname)
{
	if (smc->mode != SMC_MODE_TCP && smc->mode != SMC_MODE_LISTEN)
		return smc_option_refusal(smc->sk, level, optname);
	WRITE_ONCE(smc->tcp_setsockopts, smc->tcp_setsockopts + 1);
	return 0;
}

int smc_option_begin(struct sock *sk, int level, int optname)
{
	struct smc_sock *smc;
	int rc;

	/*
	 * TCP_ULP and IPV6_ADDRFORM replace the socket's operations, so this module's release would
	 * not be called. Kernel TLS also keeps a copy of the first operations that it replaces, for
	 * all TLS sockets of the host, and these operations could be this module's. A program that
	 * gets ENOENT assumes that the kernel does not have the ULP, and goes on without the ULP.
	 */
	if (level == SOL_TCP && optname == TCP_ULP)
		return -ENOENT;
	if (sk->sk_family == AF_INET6 && level == SOL_IPV6 && optname == IPV6_ADDRFORM)
		return -EOPNOTSUPP;
	if (!smc_option_is_of_tcp(sk, level, optname))
		return 0;

	lock_sock(sk);
	smc = smc_sock_find(sk) ?: smc_sock_create(sk, SMC_CLIENT);
	rc = smc ? smc_option_admit(smc, level, optname) : -ENOMEM;
	release_sock(sk);
	return rc;
}

void smc_option_end(struct sock *sk, int level, int optname)
{
	struct smc_sock *smc;

	if (!smc_option_is_of_tcp(sk, level, optname))
		return;
	lock_sock(sk);
	smc = smc_sock_find(sk);
	if (smc->mode == SMC_MODE_LISTEN && smc_must_be_tcp(sk))
		smc_listener_stop_offering(smc->listener);
	WRITE_ONCE(smc->tcp_setsockopts, smc->tcp_setsockopts - 1);
	release_sock(sk);
}

int smc_setsockopt_smc(struct sock *sk, int optname, sockptr_t optval, unsigned int optlen)
{
	struct smc_sock *smc;
	int value;

	if (optname != SMC_LIMIT_HS)
		return -ENOPROTOOPT;
	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;

	lock_sock(sk);
	smc = smc_sock_find(sk) ?: smc_sock_create(sk, SMC_SERVER);
	if (smc)
		smc->limit_handshakes = value;
	release_sock(sk);
	return smc ? 0 : -ENOMEM;
}

int smc_getsockopt_smc(struct sock *sk, int optname, char __user *optval, int __user *optlen)
{
	struct smc_sock *smc = smc_sock_find(sk);
	int value, len;

	if (optname != SMC_LIMIT_HS)
		return -ENOPROTOOPT;
	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(int, len, sizeof(value));
	value = smc && smc->limit_handshakes;
	if (put_user(len, optlen) || copy_to_user(optval, &value, len))
		return -EFAULT;
	return 0;
}
