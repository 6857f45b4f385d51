/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The address of a TCP connection's peer; an IPv4 address is mapped to IPv6. By TCP's handshake an
 * unknown peer has proven its address, and nothing else. So limits per peer use the address, and so
 * do look-ups that must not find the objects of another peer.
 */
#ifndef SMC_ADMIN_ADDRESS_H
#define SMC_ADMIN_ADDRESS_H

#include <linux/in6.h>
#include <linux/string.h>
#include <net/ipv6.h>

/**
 * smc_address_prefix() - get the part of an address that its owner can't choose
 * @addr: address; a mapped IPv4 address is returned as it is
 *
 * Return: the /64 of an IPv6 address, because one host may have all of a /64.
 */
static inline struct in6_addr smc_address_prefix(const struct in6_addr *addr)
{
	struct in6_addr prefix = *addr;

	if (!ipv6_addr_v4mapped(addr))
		memset(&prefix.s6_addr[8], 0, 8);
	return prefix;
}

/**
 * smc_address_same_prefix() - whether two addresses share a prefix, so that one host may have both
 * @a: address; an IPv4 address is mapped to IPv6
 * @b: another address
 */
static inline bool smc_address_same_prefix(const struct in6_addr *a, const struct in6_addr *b)
{
	const struct in6_addr prefix = smc_address_prefix(a), other = smc_address_prefix(b);

	return ipv6_addr_equal(&prefix, &other);
}

#endif
