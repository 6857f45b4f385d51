/* SPDX-License-Identifier: GPL-2.0 */
/* The other end of a connection, where that is in the same network namespace. */
#ifndef SMC_NEARBY_H
#define SMC_NEARBY_H

#include <linux/types.h>

struct sock;

/**
 * smc_nearby() - whether packets go no further than this namespace
 * @sk: connected TCP socket
 *
 * Context: any.
 */
bool smc_nearby(const struct sock *sk);

/**
 * smc_nearby_peer() - the socket that packets go to
 * @sk: connected TCP socket, for which smc_nearby() holds
 *
 * Addresses that are translated between the ends hide it, and so does a socket bound to a device.
 *
 * Context: any.
 * Return: it, with a reference; or NULL.
 */
struct sock *smc_nearby_peer(const struct sock *sk);

/**
 * smc_nearby_is_watched() - whether somebody captures packets where they go, those of all protocols
 * @sk: connected TCP socket, for which smc_nearby() holds
 *
 * Context: any.
 */
bool smc_nearby_is_watched(const struct sock *sk);

#endif
