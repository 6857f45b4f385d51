/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ends of a link that is to be added to a group. Preferably, neither end uses a port that
 * another link of the group uses. If one end has no other port that reaches the other end, the new
 * link is asymmetric: that end uses its first port again (RFC 7609 section 2.2).
 */
#ifndef SMC_RDMA_ADD_LINK_ENDS_H
#define SMC_RDMA_ADD_LINK_ENDS_H

#include <linux/types.h>

struct smc_link;
struct smc_link_peer;
struct smc_llc_msg;
struct smc_rdma_port;

/**
 * smc_add_link_find_server_port() - find the port of this server for another link
 * @oldest: oldest link that works
 * @port: filled on success; release with smc_rdma_port_put()
 *
 * Context: process; with the buffer lock.
 * Return: 0; -ENODEV if no port fits.
 */
int smc_add_link_find_server_port(const struct smc_link *oldest, struct smc_rdma_port *port);

/**
 * smc_add_link_find_client_port() - find this client's port for the link that the server offers
 * @oldest: oldest link that works
 * @peer: the server's end of the link, from its ADD LINK
 * @port: filled on success; release with smc_rdma_port_put()
 *
 * Context: process; with the buffer lock.
 * Return: 0; -ENODEV if no port fits; or -EHOSTUNREACH if a link to @peer would be of no use.
 */
int smc_add_link_find_client_port(const struct smc_link *oldest, const struct smc_link_peer *peer,
				  struct smc_rdma_port *port);

/**
 * smc_add_link_get_peer() - get the peer's end of a link from the peer's ADD LINK
 * @msg: ADD LINK
 * @peer: filled
 *
 * Context: any.
 * Return: 0; or -EHOSTUNREACH if the message names no valid end.
 */
int smc_add_link_get_peer(const struct smc_llc_msg *msg, struct smc_link_peer *peer);

/**
 * smc_add_link_is_of_use() - whether a new link is of use beside the oldest one
 * @oldest: oldest link that works
 * @link: new link, whose ends are known
 *
 * If both links used the same ports at both ends, they would be lost together. If they use the same
 * port at only one end, the new link is asymmetric. An asymmetric link is of use only if no link of
 * the group but @oldest works. After an asymmetric link could not be confirmed, or was refused in
 * version 1, no asymmetric link is of use for the time SMC_ADD_LINK_ASYMMETRIC.
 *
 * Context: process; with the buffer lock.
 */
bool smc_add_link_is_of_use(const struct smc_link *oldest, const struct smc_link *link);

#endif
