/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a network namespace. Each is an increment of a per-CPU word, in any context, but for
 * smc_stat_fallback(), which takes a lock: not in hard interrupts. A namespace has them when SMC
 * knows its first socket, see smc_net_prepare(), and until then there is nothing to count.
 *
 * Shown by SMC_NETLINK_GET_STATS, SMC_NETLINK_GET_FBACK_STATS and, what these have no
 * attribute for, in /proc/net/smc_stat.
 */
#ifndef SMC_ADMIN_STATS_H
#define SMC_ADMIN_STATS_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "admin/net.h"
#include "path_kind.h"

/* What a peer did that no correct peer does, by where it was noticed. */
enum smc_violation {
	SMC_VIOLATION_CLC,	/* malformed message of the rendezvous */
	SMC_VIOLATION_LLC,	/* malformed or impossible LLC message */
	SMC_VIOLATION_CDC,	/* malformed CDC message */
	SMC_VIOLATION_CURSOR,	/* cursor outside the window */
	SMC_VIOLATION_TOKEN,	/* alert token of no connection */
	SMC_VIOLATION_POSITION,	/* reader outside of what the peer published: a mistake of ours */
	SMC_N_VIOLATIONS,
};

/* As /proc/net/smc_stat has them. */
extern const char *const smc_violation_names[SMC_N_VIOLATIONS];

/* Work of the RDMA path. */
enum smc_rdma_counter {
	SMC_RDMA_WRITES,
	SMC_RDMA_WRITE_BYTES,
	SMC_RDMA_SENDS,
	SMC_RDMA_RECVS,
	SMC_RDMA_REGISTRATIONS,		/* memory regions registered */
	SMC_RDMA_GROUPS_CREATED,
	SMC_RDMA_GROUPS_LOST,		/* ended under their connections */
	SMC_RDMA_LINKS_STALLED,		/* whose peer took no message for too long */
	SMC_N_RDMA_COUNTERS,
};

/* Work of the path inside the host. */
enum smc_ism_counter {
	SMC_ISM_WRITES,			/* publishes, with bytes or without */
	SMC_ISM_WRITE_BYTES,
	SMC_ISM_DMBS,			/* DMBs allocated */
	SMC_ISM_GROUPS_CREATED,
	SMC_N_ISM_COUNTERS,
};

/* Connections that were closed here and whose peer has not closed yet. */
enum smc_orphan_counter {
	SMC_ORPHANS,			/* now; one CPU's share may be negative */
	SMC_ORPHANS_TIMED_OUT,		/* the peer took too long */
	SMC_ORPHANS_REFUSED,		/* reset at once: there were too many */
	SMC_N_ORPHAN_COUNTERS,
};

/* Steps of the size histograms: up to 8 KiB, 16 KiB, ... 1 MiB, and above. */
#define SMC_STAT_SIZES	9

/* What happens to the buffers of one direction. */
enum smc_stat_buffer_event {
	SMC_STAT_SMALL_PEER,	/* the peer's is too small for a request */
	SMC_STAT_SMALL,		/* ours is */
	SMC_STAT_FULL_PEER,	/* the peer's is full */
	SMC_STAT_FULL,		/* ours is */
	SMC_STAT_REUSED,
	SMC_STAT_ALLOCATED,
	SMC_STAT_DOWNGRADED,	/* smaller than asked for */
	SMC_STAT_N_BUFFER_EVENTS,
};

/* Calls that are worth counting. */
enum smc_stat_call {
	SMC_STAT_SENDPAGE,
	SMC_STAT_SPLICE,
	SMC_STAT_CORK,
	SMC_STAT_NODELAY,
	SMC_STAT_URGENT,
	SMC_STAT_N_CALLS,
};

struct smc_stat_direction {
	u64 bytes;
	u64 payload[SMC_STAT_SIZES];	/* calls, by how many bytes they transferred */
	u64 buffer[SMC_STAT_SIZES];
	u64 event[SMC_STAT_N_BUFFER_EVENTS];
	u64 buffer_bytes;	/* allocated now; one CPU's share may be negative */
};

struct smc_stat_path {
	struct smc_stat_direction tx;
	struct smc_stat_direction rx;
	u64 handshakes[SMC_N_ROLES][2];		/* [role][version - 1] */
	u64 call[SMC_STAT_N_CALLS];
};

/* Only u64, so that the sum over CPUs is a sum of arrays. */
struct smc_stats {
	struct smc_stat_path path[SMC_N_PATHS];
	u64 handshake_errors[SMC_N_ROLES];
	u64 violation[SMC_N_VIOLATIONS];
	u64 rdma[SMC_N_RDMA_COUNTERS];
	u64 ism[SMC_N_ISM_COUNTERS];
	u64 orphan[SMC_N_ORPHAN_COUNTERS];
};

#define smc_stat_add(sn, counter, n)	this_cpu_add((sn)->stats->counter, n)
#define smc_stat_inc(sn, counter)	smc_stat_add(sn, counter, 1)

static inline unsigned int smc_stat_size_step(size_t len)
{
	if (len <= SZ_8K)
		return 0;
	return min(fls_long((len - 1) / SZ_8K), SMC_STAT_SIZES - 1);
}

static inline struct smc_stat_path __percpu *smc_stat_path(const struct smc_net *sn,
							   enum smc_path_kind kind)
{
	return &sn->stats->path[kind];
}

/* @len bytes were accepted from the program by one call. */
static inline void smc_stat_tx(struct smc_stat_path __percpu *stats, size_t len)
{
	this_cpu_add(stats->tx.bytes, len);
	this_cpu_inc(stats->tx.payload[smc_stat_size_step(len)]);
}

/* @len bytes were given to the program by one call. */
static inline void smc_stat_rx(struct smc_stat_path __percpu *stats, size_t len)
{
	this_cpu_add(stats->rx.bytes, len);
	this_cpu_inc(stats->rx.payload[smc_stat_size_step(len)]);
}

/* A send had to wait: the peer's element (@peer) or our send buffer is full. */
static inline void smc_stat_tx_full(struct smc_stat_path __percpu *stats, bool peer)
{
	this_cpu_inc(stats->tx.event[peer ? SMC_STAT_FULL_PEER : SMC_STAT_FULL]);
}

/* A send asks for more than the peer's element (@peer) or our send buffer holds. */
static inline void smc_stat_tx_small(struct smc_stat_path __percpu *stats, bool peer)
{
	this_cpu_inc(stats->tx.event[peer ? SMC_STAT_SMALL_PEER : SMC_STAT_SMALL]);
}

/* Our element is full. */
static inline void smc_stat_rx_full(struct smc_stat_path __percpu *stats)
{
	this_cpu_inc(stats->rx.event[SMC_STAT_FULL]);
}

/* A receive asks for more than our element holds. */
static inline void smc_stat_rx_small(struct smc_stat_path __percpu *stats)
{
	this_cpu_inc(stats->rx.event[SMC_STAT_SMALL]);
}

static inline void smc_stat_call(struct smc_stat_path __percpu *stats, enum smc_stat_call which)
{
	this_cpu_inc(stats->call[which]);
}

/* A connection got a buffer of @size bytes: @reused memory, or newly allocated. */
static inline void smc_stat_buffer(const struct smc_net *sn, enum smc_path_kind kind, bool rx,
				   u32 size, bool reused)
{
	enum smc_stat_buffer_event event = reused ? SMC_STAT_REUSED : SMC_STAT_ALLOCATED;

	if (rx) {
		smc_stat_inc(sn, path[kind].rx.buffer[smc_stat_size_step(size)]);
		smc_stat_inc(sn, path[kind].rx.event[event]);
		return;
	}
	smc_stat_inc(sn, path[kind].tx.buffer[smc_stat_size_step(size)]);
	smc_stat_inc(sn, path[kind].tx.event[event]);
}

/* A connection had to take a smaller buffer than it should have. */
static inline void smc_stat_buffer_downgraded(const struct smc_net *sn, enum smc_path_kind kind,
					      bool rx)
{
	if (rx)
		smc_stat_inc(sn, path[kind].rx.event[SMC_STAT_DOWNGRADED]);
	else
		smc_stat_inc(sn, path[kind].tx.event[SMC_STAT_DOWNGRADED]);
}

/* The memory that buffers occupy grew by @bytes, or shrank if negative. */
static inline void smc_stat_buffer_bytes(const struct smc_net *sn, enum smc_path_kind kind, bool rx,
					 s64 bytes)
{
	if (rx)
		smc_stat_add(sn, path[kind].rx.buffer_bytes, bytes);
	else
		smc_stat_add(sn, path[kind].tx.buffer_bytes, bytes);
}

/* A rendezvous ended with an SMC connection of @version 1 or 2. */
static inline void smc_stat_handshake(const struct smc_net *sn, enum smc_path_kind kind,
				      enum smc_role role, u8 version)
{
	smc_stat_inc(sn, path[kind].handshakes[role][version - 1]);
}

/* A rendezvous failed for an error: neither SMC nor an agreed fallback. */
static inline void smc_stat_handshake_error(const struct smc_net *sn, enum smc_role role)
{
	smc_stat_inc(sn, handshake_errors[role]);
}

/**
 * smc_stat_fallback() - a connection goes on as TCP
 * @sn: namespace of the connection
 * @role: ours
 * @reason: enum smc_clc_diagnosis, the one we sent or would have sent
 */
void smc_stat_fallback(const struct smc_net *sn, enum smc_role role, u32 reason);

static inline void smc_stat_violation(const struct smc_net *sn, enum smc_violation what)
{
	smc_stat_inc(sn, violation[what]);
}

/* @n is 1 but for SMC_RDMA_WRITE_BYTES. */
static inline void smc_stat_rdma(const struct smc_net *sn, enum smc_rdma_counter which, u64 n)
{
	smc_stat_add(sn, rdma[which], n);
}

/* @n is 1 but for SMC_ISM_WRITE_BYTES. */
static inline void smc_stat_ism(const struct smc_net *sn, enum smc_ism_counter which, u64 n)
{
	smc_stat_add(sn, ism[which], n);
}

/* @n is 1, or -1 for one of SMC_ORPHANS that is no more. */
static inline void smc_stat_orphan(const struct smc_net *sn, enum smc_orphan_counter which, s64 n)
{
	smc_stat_add(sn, orphan[which], n);
}

/* Called by net.c, once and for each namespace. */
int smc_stats_init(void);
void smc_stats_exit(void);
int smc_stats_init_net(struct net *net);
void smc_stats_exit_net(struct net *net);

/* Whether a namespace has per-CPU counters of its own. */
bool smc_stats_are_made(const struct smc_net *sn);
/* Whoever calls it, one makes them. Return: 0 or -ENOMEM. */
int smc_stats_make(struct smc_net *sn);

#endif
