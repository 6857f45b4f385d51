// SPDX-License-Identifier: GPL-2.0
/* Socket options. */

#include <linux/tcp.h>
#include <net/sock.h>

#include "listener.h"
#include "options.h"
#include "smc_sock.h"
#include "wire/clc.h"

#include "../../../include/uapi/linux/smc.h"

/* What takes TCP's bytes or packets somewhere else. */
static bool smc_option_needs_tcp(int level, int optname)
{
	if (level != SOL_TCP)
		return false;
	switch (optname) {
	case TCP_ULP:
	case TCP_FASTOPEN:
	case TCP_FASTOPEN_CONNECT:
	case TCP_FASTOPEN_KEY:
	case TCP_FASTOPEN_NO_COOKIE:
	case TCP_REPAIR:
	case TCP_MD5SIG:
	case TCP_MD5SIG_EXT:
		return true;
	default:
		return false;
	}
}

int smc_option_check(struct sock *sk, int level, int optname)
{
	struct smc_sock *smc;
	int rc = 0;

	/* It would exchange the socket's operations under this module. */
	if (level == SOL_IPV6 && optname == IPV6_ADDRFORM)
		return -EOPNOTSUPP;
	if (!smc_option_needs_tcp(level, optname))
		return 0;

	lock_sock(sk);
	smc = smc_sock_find(sk);
	if (!smc)
		smc = smc_sock_create(sk, SMC_CLIENT);
	if (!smc) {
		rc = -ENOMEM;
		goto out;
	}
	if (smc->mode == SMC_MODE_LISTEN) {
		smc_listener_stop_offering(smc->listener);
		goto out;
	}
	if (smc->mode != SMC_MODE_TCP) {
		rc = -EOPNOTSUPP;
		goto out;
	}
	if (!smc->tcp_only && !smc->reason)
		smc_sock_fall_back(smc, SMC_DIAG_SOCKET_OPTION);
	/* One that fell back before may wait for a late message, and others set hooks now. */
	smc_sock_unhook(smc);
	smc->tcp_only = true;
out:
	release_sock(sk);
	return rc;
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
	smc = smc_sock_find(sk);
	if (!smc)
		smc = smc_sock_create(sk, SMC_SERVER);
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
