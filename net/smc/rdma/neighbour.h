/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The MAC addresses of the links' next hops. A queue pair sends to the same MAC address for its
 * whole life. If the peer or the router to it gets another MAC address, new connections need a link
 * that sends there.
 */
#ifndef SMC_RDMA_NEIGHBOUR_H
#define SMC_RDMA_NEIGHBOUR_H

/**
 * smc_neighbours_init() - begin to watch the neighbour tables
 *
 * Return: 0 or -errno.
 */
int smc_neighbours_init(void);

/**
 * smc_neighbours_exit() - watch the neighbour tables no more
 *
 * Context: process, may sleep. No group is left.
 */
void smc_neighbours_exit(void);

/**
 * smc_neighbours_check() - soon compare all links with the neighbour tables
 *
 * Context: any.
 */
void smc_neighbours_check(void);

#endif
