/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as net/smc/stream/ uses, for one thread: each kernel header that it
 * includes is a file that includes this one, made by the Makefile. Locks find a second holder, time
 * passes when a test says so, and a sleeper runs what the test gave pair_meanwhile().
 */
#ifndef SMC_TEST_KERNEL_H
#define SMC_TEST_KERNEL_H

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "stream/platform.h"

/* Compilers and types. */

#undef static_assert
#define static_assert(x)	_Static_assert(x, #x)
#define __force
#define __percpu
#define __releases(x)
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#undef noinline
#define noinline		__attribute__((noinline))
#undef __section
#define __section(name)		__attribute__((section(name)))
#undef __aligned
#define __aligned(n)		__attribute__((aligned(n)))

typedef int64_t s64;
typedef unsigned int __poll_t;
typedef unsigned int gfp_t;

struct in6_addr {
	u8 s6_addr[16];
};

#define BIT(n)			(1UL << (n))
#define U32_MAX			((u32)~0U)
#define SZ_2K			2048
#define SZ_4K			4096
#define SZ_8K			8192
#define SZ_64K			65536
#define PAGE_SIZE		4096UL

#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define min(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)		({ __auto_type a_ = (a); __auto_type b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define min3(a, b, c)		min(min(a, b), c)
#define fls_long(x)		((x) ? (int)(8 * sizeof(long)) - __builtin_clzl(x) : 0)
#define xchg(p, value)		__atomic_exchange_n(p, value, __ATOMIC_SEQ_CST)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#define KERNEL_EXPECT(x)						\
	do {								\
		if (!(x)) {						\
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);	\
			abort();					\
		}							\
	} while (0)

/* Memory. */

#define GFP_KERNEL		0
#define GFP_ATOMIC		0
#define GFP_USER		0
#define kzalloc(size, gfp)	calloc(1, size)
#define kfree(p)		free(p)

struct page {
	u8 bytes[PAGE_SIZE];
};

#define alloc_page(gfp)		((struct page *)calloc(1, sizeof(struct page)))
#define put_page(page)		free(page)
#define page_address(page)	((void *)(page)->bytes)
#define totalram_pages()	(1L << 20)

#define this_cpu_add(place, n)	((place) += (n))
#define this_cpu_inc(place)	this_cpu_add(place, 1)
#define this_cpu_dec(place)	this_cpu_add(place, -1)

/* Counters and locks. */

typedef struct {
	int n;
} atomic_t;
typedef struct {
	long n;
} atomic_long_t;

#define ATOMIC_INIT(value)		{ value }
#define ATOMIC_LONG_INIT(value)		{ value }
#define atomic_read(a)			((a)->n)
#define atomic_set(a, value)		((a)->n = (value))
#define atomic_inc(a)			((void)++(a)->n)
#define atomic_add(value, a)		((void)((a)->n += (value)))
#define atomic_add_return(value, a)	((a)->n += (value))
#define atomic_dec(a)			((void)--(a)->n)
#define atomic_dec_and_test(a)		(!--(a)->n)
#define atomic_long_read		atomic_read
#define atomic_long_add			atomic_add
#define atomic_long_add_return		atomic_add_return

struct kref {
	int n;
};

#define kref_init(ref)		((ref)->n = 1)
#define kref_get(ref)		do { KERNEL_EXPECT((ref)->n > 0); (ref)->n++; } while (0)
#define kref_put(ref, release)						\
	do {								\
		struct kref *ref_ = (ref);				\
		KERNEL_EXPECT(ref_->n > 0);				\
		if (!--ref_->n)						\
			release(ref_);					\
	} while (0)

typedef struct {
	bool is_held;
} spinlock_t;

#define lockdep_assert_held(lock)	KERNEL_EXPECT((lock)->is_held)

static inline void spin_lock(spinlock_t *lock)
{
	KERNEL_EXPECT(!lock->is_held);
	lock->is_held = true;
}

static inline void spin_unlock(spinlock_t *lock)
{
	KERNEL_EXPECT(lock->is_held);
	lock->is_held = false;
}

#define spin_lock_bh		spin_lock
#define spin_unlock_bh		spin_unlock
#define local_bh_enable()	do { } while (0)
#define read_lock_bh		spin_lock
#define read_unlock_bh		spin_unlock
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)
#define rcu_dereference(p)	(p)
#define pagefault_disable()	do { } while (0)
#define pagefault_enable()	do { } while (0)

/* Time: timers and delayed work are in one list, which kernel_advance() runs. */

#define HZ			1000
#define NSEC_PER_USEC		1000L
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define local_clock()		((u64)jiffies * 1000000)
#define ktime_get_real_ns()	local_clock()

extern unsigned long jiffies;

struct timer_list {
	void (*function)(struct timer_list *timer);
	unsigned long expires;
	bool is_pending;
	struct timer_list *next;	/* of those pending */
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
};

struct workqueue_struct;

void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer), int flags);
/* Return: whether it was pending. */
bool mod_timer(struct timer_list *timer, unsigned long expires);
bool timer_delete(struct timer_list *timer);
void kernel_run_work(struct timer_list *timer);

#define timer_pending(timer)		((timer)->is_pending)
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define delayed_work_pending(dw)	timer_pending(&(dw)->timer)
#define INIT_DELAYED_WORK(dw, fn)					\
	do {								\
		(dw)->work.func = (fn);					\
		timer_setup(&(dw)->timer, kernel_run_work, 0);		\
	} while (0)
#define mod_delayed_work(wq, dw, delay)	mod_timer(&(dw)->timer, jiffies + (delay))
#define queue_delayed_work(wq, dw, delay) \
	(!timer_pending(&(dw)->timer) && !mod_delayed_work(wq, dw, delay))
#define cancel_delayed_work(dw)		timer_delete(&(dw)->timer)

/* Threads and waiting. */

#define current				NULL
#define signal_pending(task)		false
#define fatal_signal_pending(task)	false
#define sock_intr_errno(timeo)		(-EINTR)
#define single_task_running()		false
#define need_resched()			false
#define cpu_relax()			do { } while (0)
#define wake_up_var(var)		do { } while (0)

#define TASK_INTERRUPTIBLE	1
#define WQ_FLAG_WOKEN		2
#define WQ_MAX_ACTIVE		512	/* the least of all supported kernels */
#define num_online_nodes()	1
#define poll_to_key(events)	((void *)(uintptr_t)(events))
#define key_to_poll(key)	((__poll_t)(uintptr_t)(key))

struct wait_queue_entry {
	int flags;
	int (*func)(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key);
};

/* At most one thread sleeps at a socket. */
struct wait_queue_head {
	struct wait_queue_entry *sleeper;
	__poll_t told;			/* events that a sleeper would have been woken for */
};

typedef struct wait_queue_head wait_queue_head_t;

int woken_wake_function(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key);
void __wake_up(struct wait_queue_head *wq, unsigned int mode, int nr, void *key);
void add_wait_queue(struct wait_queue_head *wq, struct wait_queue_entry *wait);
void remove_wait_queue(struct wait_queue_head *wq, struct wait_queue_entry *wait);
/* Return: false if nothing more happens. */
bool kernel_meanwhile(void);

#define DEFINE_WAIT_FUNC(name, fn)	struct wait_queue_entry name = { .func = fn }
#define wake_up_interruptible_poll(wq, events)				\
	__wake_up(wq, TASK_INTERRUPTIBLE, 1, poll_to_key(events))

/* A sleeper looks again when it is woken, and not before. */
#define sk_wait_event(sk, timeo, condition, wait)			\
	do {								\
		release_sock(sk);					\
		while (!(condition) && *(timeo)) {			\
			while (!((wait)->flags & WQ_FLAG_WOKEN) && *(timeo))	\
				if (!kernel_meanwhile())		\
					*(timeo) = 0;			\
			(wait)->flags &= ~WQ_FLAG_WOKEN;		\
		}							\
		lock_sock(sk);						\
	} while (0)

/* Sockets. */

#define MSG_OOB			0x1
#define MSG_PEEK		0x2
#define MSG_TRUNC		0x20
#define MSG_DONTWAIT		0x40
#define MSG_WAITALL		0x100
#define MSG_MORE		0x8000
#define MSG_ZEROCOPY		0x4000000
#define MSG_SPLICE_PAGES	0x8000000
#define RCV_SHUTDOWN		1
#define SEND_SHUTDOWN		2
#define TCP_NAGLE_OFF		1
#define TCP_NAGLE_CORK		2
#define TCP_RTO_MIN		(HZ / 5)
#define TCP_RTO_MAX		(120UL * HZ)
#define TCP_FIN_TIMEOUT_MAX	(120UL * HZ)
#define SOCKWQ_ASYNC_NOSPACE	0
#define SOCK_WAKE_IO		0
#define SOCK_WAKE_SPACE		2
#define SK_FLAGS_TIMESTAMP	BIT(31)

enum sock_flags {
	SOCK_DEAD,
	SOCK_LINGER,
	SOCK_URGINLINE,
};

struct sk_buff_head {
	int qlen;
};

struct net {
	struct smc_net *smc;
};

struct list_head {
	struct list_head *next, *prev;
};

struct xarray {
	int none;
};

struct mutex {
	int none;
};

struct socket_wq {
	struct wait_queue_head wait;
};

struct sock {
	int sk_err;
	unsigned long sk_flags;
	int sk_rcvlowat;
	int sk_peek_off;
	unsigned int sk_ll_usec;
	unsigned long sk_lingertime;
	u32 sk_tsflags;
	atomic_t sk_tskey;
	struct sk_buff_head sk_error_queue;
	spinlock_t sk_callback_lock;
	struct socket_wq *sk_wq;
	struct kref ref;
	bool is_owned;
	unsigned int urgent_signals;
};

struct inet_connection_sock {
	struct sock sk;
	unsigned int icsk_user_timeout;
};

struct tcp_sock {
	struct inet_connection_sock icsk;
	unsigned int nonagle;
	u32 notsent_lowat;
};

struct socket {
	struct sock *sk;
	bool is_released;
};

#define inet_csk(sk)			((struct inet_connection_sock *)(sk))
#define tcp_sk(sk)			((struct tcp_sock *)(sk))
#define tcp_fin_time(sk)		(60UL * HZ)
#define sk_sleep(sk)			(&(sk)->sk_wq->wait)
#define skwq_has_sleeper(wq)		(!!(wq))
#define sk_wake_async(sk, how, band)	do { (void)(how); (void)(band); } while (0)
#define sk_set_bit(bit, sk)		do { } while (0)
#define sk_send_sigurg(sk)		((void)(sk)->urgent_signals++)
#define sock_no_linger(sk)		do { } while (0)
#define net_generic(net, id)		((net)->smc)
#define sock_net(sk)			((const struct net *)NULL)
#define skb_queue_empty_lockless(list)	(!(list)->qlen)
#define sock_flag(sk, flag)		(!!((sk)->sk_flags & BIT(flag)))
#define sock_sndtimeo(sk, noblock)	((noblock) ? 0 : LONG_MAX)
#define sock_rcvtimeo			sock_sndtimeo
#define sock_release(sock)		((void)((sock)->is_released = true))

extern int tcp_orphan_count;

static inline void lock_sock(struct sock *sk)
{
	KERNEL_EXPECT(!sk->is_owned);
	sk->is_owned = true;
}

static inline void release_sock(struct sock *sk)
{
	KERNEL_EXPECT(sk->is_owned);
	sk->is_owned = false;
}

static inline void sock_hold(struct sock *sk)
{
	kref_get(&sk->ref);
}

static inline void sock_put(struct sock *sk)
{
	KERNEL_EXPECT(sk->ref.n-- > 0);
}

static inline int sock_error(struct sock *sk)
{
	return -xchg(&sk->sk_err, 0);
}

static inline int sk_stream_error(struct sock *sk, int flags, int err)
{
	(void)flags;
	return err == -EPIPE ? sock_error(sk) ? : -EPIPE : err;
}

static inline size_t sock_rcvlowat(const struct sock *sk, int waitall, size_t len)
{
	size_t target = waitall ? len : min((size_t)sk->sk_rcvlowat, len);

	return target ? : 1;
}

static inline int sk_peek_offset(const struct sock *sk, int flags)
{
	return flags & MSG_PEEK ? sk->sk_peek_off : 0;
}

static inline void sk_peek_offset_fwd(struct sock *sk, int n)
{
	if (sk->sk_peek_off >= 0)
		sk->sk_peek_off += n;
}

static inline void sk_peek_offset_bwd(struct sock *sk, int n)
{
	if (sk->sk_peek_off >= 0)
		sk->sk_peek_off = max(sk->sk_peek_off - n, 0);
}

/* The memory of an application. */

struct iov_iter {
	u8 *at;
	size_t count;
};

struct kvec {
	void *iov_base;
	size_t iov_len;
};

struct ubuf_info;

struct msghdr {
	struct iov_iter msg_iter;
	unsigned int msg_flags;
	size_t msg_controllen;
	struct ubuf_info *msg_ubuf;
};

#define ITER_DEST		0
#define msg_data_left(msg)	((msg)->msg_iter.count)
#define fault_in_iov_iter_readable(iter, len)	((void)(iter), (void)(len), (size_t)0)

static inline void iov_iter_advance(struct iov_iter *iter, size_t n)
{
	iter->at += n;
	iter->count -= n;
}

static inline void iov_iter_revert(struct iov_iter *iter, size_t n)
{
	iter->at -= n;
	iter->count += n;
}

static inline void iov_iter_truncate(struct iov_iter *iter, size_t count)
{
	iter->count = min(iter->count, count);
}

static inline void iov_iter_kvec(struct iov_iter *iter, int direction, const struct kvec *vec,
				 unsigned long n, size_t count)
{
	(void)direction;
	(void)n;
	*iter = (struct iov_iter){ (u8 *)vec->iov_base, count };
}

static inline size_t _copy_from_iter(void *to, size_t len, struct iov_iter *from)
{
	len = min(len, from->count);
	memcpy(to, from->at, len);
	iov_iter_advance(from, len);
	return len;
}

static inline size_t _copy_to_iter(const void *from, size_t len, struct iov_iter *to)
{
	len = min(len, to->count);
	memcpy(to->at, from, len);
	iov_iter_advance(to, len);
	return len;
}

static inline int memcpy_to_msg(struct msghdr *msg, const void *from, size_t len)
{
	return _copy_to_iter(from, len, &msg->msg_iter) == len ? 0 : -EFAULT;
}

/* Pipes. */

struct pipe_inode_info {
	struct iov_iter to;
};

struct partial_page {
	unsigned int offset;
	unsigned int len;
};

struct pipe_buf_operations;

struct splice_pipe_desc {
	struct page **pages;
	struct partial_page *partial;
	int nr_pages;
	unsigned int nr_pages_max;
	const struct pipe_buf_operations *ops;
	void (*spd_release)(struct splice_pipe_desc *spd, unsigned int i);
};

extern const struct pipe_buf_operations {
	int none;
} nosteal_pipe_buf_ops;

static inline ssize_t splice_to_pipe(struct pipe_inode_info *pipe, struct splice_pipe_desc *spd)
{
	ssize_t n = _copy_to_iter(spd->pages[0]->bytes, spd->partial[0].len, &pipe->to);

	spd->spd_release(spd, 0);
	return n;
}

#endif
