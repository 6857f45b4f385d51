/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The address of a TCP connection's peer. It is all that is proven of a stranger, who has answered
 * a SYN-ACK there: what is bounded for each peer, or is to be kept from others, goes by it.
 */
#ifndef SMC_ADMIN_ADDRESS_H
#define SMC_ADMIN_ADDRESS_H

#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/sock.h>

/**
 * smc_peer_address() - the address of a socket's peer; one of IPv4 is mapped
 * @sk: TCP socket, connected
 * @addr: filled
 */
static inline void smc_peer_address(const struct sock *sk, struct in6_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*addr = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, addr);
}

/**
 * smc_address_prefix() - the part of an address that its owner can't choose
 * @addr: one of IPv4 is mapped, and is returned as it is
 *
 * Return: of IPv6 the /64, all of which one host may have.
 */
static inline struct in6_addr smc_address_prefix(const struct in6_addr *addr)
{
	struct in6_addr prefix = *addr;

	if (!ipv6_addr_v4mapped(addr))
		memset(&prefix.s6_addr[8], 0, 8);
	return prefix;
}

/**
 * smc_address_is_akin() - whether two addresses may be one host's, by their prefix
 * @a: address; one of IPv4 is mapped
 * @b: another one
 */
static inline bool smc_address_is_akin(const struct in6_addr *a, const struct in6_addr *b)
{
	const struct in6_addr prefix = smc_address_prefix(a), other = smc_address_prefix(b);

	return ipv6_addr_equal(&prefix, &other);
}

#endif
