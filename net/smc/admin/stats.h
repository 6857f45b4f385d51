/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a network namespace. Each counter is a per-CPU word, and can be incremented in any
 * context. Fallbacks are the exception: smc_stat_fallback() counts them under a lock, and must not
 * be called in hard interrupts. A namespace gets its per-CPU counters before its first SMC socket,
 * see smc_net_prepare(); until then there is nothing to count.
 *
 * User space reads the counters by SMC_NETLINK_GET_STATS and SMC_NETLINK_GET_FBACK_STATS. The
 * in-tree module's attributes there do not cover all counters. /proc/net/smc_stat shows the others.
 */
#ifndef SMC_ADMIN_STATS_H
#define SMC_ADMIN_STATS_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "admin/net.h"
#include "path_kind.h"

/* Ways in which a peer's message breaks the protocol, and one bug of this module. */
enum smc_violation {
	SMC_VIOLATION_CLC,	/* malformed or unexpected CLC message */
	SMC_VIOLATION_LLC,	/* malformed or impossible LLC message */
	SMC_VIOLATION_CDC,	/* malformed CDC message */
	SMC_VIOLATION_CURSOR,	/* cursor outside the window */
	SMC_VIOLATION_TOKEN,	/* alert token that belongs to no connection */
	SMC_VIOLATION_POSITION,	/* read position beyond the published bytes: a bug of this module */
	SMC_N_VIOLATIONS,
};

/* Names of the violations in /proc/net/smc_stat. */
extern const char *const smc_violation_names[SMC_N_VIOLATIONS];

/* Counters of SMC-R. Those from SMC_RDMA_GROUPS_LOST on are also in SMC_NLA_STATS_LINKS. */
enum smc_rdma_counter {
	SMC_RDMA_WRITES,
	SMC_RDMA_WRITE_BYTES,
	SMC_RDMA_SENDS,
	SMC_RDMA_LOSSY_PUBLISHES,	/* publishes on a link that loses packets */
	SMC_RDMA_RECVS,
	SMC_RDMA_REGISTRATIONS,		/* memory regions registered */
	SMC_RDMA_GROUPS_CREATED,
	SMC_RDMA_GROUPS_LOST,		/* ended while they had connections */
	SMC_RDMA_LINKS_ADDED,		/* to groups that had another link */
	SMC_RDMA_LINKS_LOST,		/* of groups that had another link */
	SMC_RDMA_CONNS_MOVED,		/* from a link that ended to another one */
	SMC_RDMA_LINKS_STALLED,		/* ended because the peer took no message for too long */
	SMC_RDMA_REPEATED_WRITES,	/* of bytes that a lost link may not have delivered */
	SMC_RDMA_REPEATED_BYTES,
	SMC_N_RDMA_COUNTERS,
};

/* Counters of SMC-D. */
enum smc_ism_counter {
	SMC_ISM_WRITES,			/* publishes, with bytes or without */
	SMC_ISM_WRITE_BYTES,
	SMC_ISM_DMBS,			/* DMBs allocated */
	SMC_ISM_GROUPS_CREATED,
	SMC_N_ISM_COUNTERS,
};

/* Counters of orphans: connections that are closed here, but not yet by the peer. */
enum smc_orphan_counter {
	SMC_ORPHANS,			/* current number; one CPU's share may be negative */
	SMC_ORPHANS_TIMED_OUT,		/* reset because the peer took too long */
	SMC_ORPHANS_REFUSED,		/* reset at once because there were too many */
	SMC_N_ORPHAN_COUNTERS,
};

/* Buckets of the size histograms: up to 8 KiB, 16 KiB, ... 1 MiB, and above. */
#define SMC_STAT_SIZES	9

/* Events of the buffers of one direction. */
enum smc_stat_buffer_event {
	SMC_STAT_SMALL_PEER,	/* the peer's buffer is smaller than one call's data */
	SMC_STAT_SMALL,		/* the local buffer is smaller than one call's data */
	SMC_STAT_FULL_PEER,	/* the peer's buffer is full */
	SMC_STAT_FULL,		/* the local buffer is full */
	SMC_STAT_REUSED,
	SMC_STAT_ALLOCATED,
	SMC_STAT_DOWNGRADED,	/* smaller than requested */
	SMC_STAT_N_BUFFER_EVENTS,
};

/* Calls and options that are counted. */
enum smc_stat_call {
	SMC_STAT_SENDPAGE,
	SMC_STAT_SPLICE,
	SMC_STAT_CORK,
	SMC_STAT_NODELAY,
	SMC_STAT_URGENT,
	SMC_STAT_N_CALLS,
};

/* Directions of a path's bytes and buffers. */
enum { SMC_STAT_TX, SMC_STAT_RX, SMC_STAT_N_DIRECTIONS };

struct smc_stat_direction {
	u64 bytes;
	u64 payload[SMC_STAT_SIZES];	/* number of calls, by bytes transferred */
	u64 buffer[SMC_STAT_SIZES];	/* number of buffers that connections got, by size */
	u64 event[SMC_STAT_N_BUFFER_EVENTS];
	u64 buffer_bytes;	/* allocated at present; one CPU's share may be negative */
};

struct smc_stat_path {
	struct smc_stat_direction direction[SMC_STAT_N_DIRECTIONS];
	u64 handshakes[SMC_N_ROLES][2];		/* [role][version - 1] */
	u64 call[SMC_STAT_N_CALLS];
};

/* All members are u64, so that the sum over CPUs is a sum of arrays. */
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

/* Counts a call that took @len bytes from the application or, with @rx, returned them to it. */
static inline void smc_stat_bytes(struct smc_stat_path __percpu *stats, bool rx, size_t len)
{
	this_cpu_add(stats->direction[rx].bytes, len);
	this_cpu_inc(stats->direction[rx].payload[smc_stat_size_step(len)]);
}

/* Counts an event of a buffer. The buffer is the peer's for the events *_PEER, else this end's. */
static inline void smc_stat_buffer_event(struct smc_stat_path __percpu *stats, bool rx,
					 enum smc_stat_buffer_event event)
{
	this_cpu_inc(stats->direction[rx].event[event]);
}

static inline void smc_stat_call(struct smc_stat_path __percpu *stats, enum smc_stat_call which)
{
	this_cpu_inc(stats->call[which]);
}

/* Counts a buffer of @size bytes that a connection got, reused or newly allocated. */
static inline void smc_stat_buffer(const struct smc_net *sn, enum smc_path_kind kind, bool rx,
				   u32 size, bool reused)
{
	struct smc_stat_path __percpu *stats = smc_stat_path(sn, kind);

	this_cpu_inc(stats->direction[rx].buffer[smc_stat_size_step(size)]);
	smc_stat_buffer_event(stats, rx, reused ? SMC_STAT_REUSED : SMC_STAT_ALLOCATED);
}

/* Counts a buffer that is smaller than the connection requested. */
static inline void smc_stat_buffer_downgraded(const struct smc_net *sn, enum smc_path_kind kind,
					      bool rx)
{
	smc_stat_buffer_event(smc_stat_path(sn, kind), rx, SMC_STAT_DOWNGRADED);
}

/* Adds @bytes to the memory that buffers occupy. @bytes is negative when a buffer is freed. */
static inline void smc_stat_buffer_bytes(const struct smc_net *sn, enum smc_path_kind kind, bool rx,
					 s64 bytes)
{
	smc_stat_add(sn, path[kind].direction[rx].buffer_bytes, bytes);
}

/* Counts an SMC handshake that ended with an SMC connection of @version 1 or 2. */
static inline void smc_stat_handshake(const struct smc_net *sn, enum smc_path_kind kind,
				      enum smc_role role, u8 version)
{
	smc_stat_inc(sn, path[kind].handshakes[role][version - 1]);
}

/* Counts an SMC handshake that failed with an error, which ends the connection. */
static inline void smc_stat_handshake_error(const struct smc_net *sn, enum smc_role role)
{
	smc_stat_inc(sn, handshake_errors[role]);
}

/**
 * smc_stat_fallback() - count a connection that fell back to TCP
 * @sn: namespace of the connection
 * @role: role of this end
 * @reason: enum smc_clc_diagnosis that says why
 */
void smc_stat_fallback(const struct smc_net *sn, enum smc_role role, u32 reason);

static inline void smc_stat_violation(const struct smc_net *sn, enum smc_violation what)
{
	smc_stat_inc(sn, violation[what]);
}

/* Adds @n operations to a counter, or @n bytes to SMC_RDMA_*_BYTES. */
static inline void smc_stat_rdma(const struct smc_net *sn, enum smc_rdma_counter which, u64 n)
{
	smc_stat_add(sn, rdma[which], n);
}

/* Adds @n operations to a counter, or @n bytes to SMC_ISM_WRITE_BYTES. */
static inline void smc_stat_ism(const struct smc_net *sn, enum smc_ism_counter which, u64 n)
{
	smc_stat_add(sn, ism[which], n);
}

/*
 * Pages of the host's memory that connections keep although they are closed here (orphans), or are
 * over while the peer or the device may still use their elements (quarantine). With SMC-R a send
 * buffer counts as well. An element keeps its whole buffer, so a buffer counts with all its pages.
 * A buffer counts in one of the two sums at most: in @smc_quarantined_pages if it has a quarantined
 * element; else in @smc_orphan_pages if an orphan has an element of it. memory/buffer.c keeps
 * @smc_orphan_pages right, and rdma/group.c adds to @smc_quarantined_pages. A buffer with a
 * quarantined element counts in neither sum once its link group is dead, or is about to end with
 * its last connection, because the buffer is freed soon.
 */
extern atomic_long_t smc_orphan_pages;
extern atomic_long_t smc_quarantined_pages;

/* Adds @n to a counter. @n is 1, or -1 when a connection is no longer an orphan. */
static inline void smc_stat_orphan(const struct smc_net *sn, enum smc_orphan_counter which, s64 n)
{
	smc_stat_add(sn, orphan[which], n);
}

/* module.c calls these once. */
int smc_stats_init(void);
void smc_stats_exit(void);

/* net.c calls these for each namespace. */
int smc_stats_init_net(struct net *net);
void smc_stats_exit_net(struct net *net);

/* Whether a namespace has per-CPU counters of its own. */
bool smc_stats_are_made(const struct smc_net *sn);
/* Makes the counters of a namespace; concurrent callers share one set. Return: 0 or -ENOMEM. */
int smc_stats_make(struct smc_net *sn);

#endif
