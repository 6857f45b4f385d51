// SPDX-License-Identifier: GPL-2.0
/* Time, waiting, and what other folders of the module give net/smc/stream/. */

#include "kernel.h"

#include "pair.h"
#include "stream/internal.h"
#include "workqueue.h"

unsigned long jiffies = 1000;
int tcp_orphan_count;
const struct pipe_buf_operations nosteal_pipe_buf_ops;
struct workqueue_struct *smc_wq;
unsigned int smc_sysctl_max_orphans = 64;
unsigned int smc_net_id;
atomic_long_t smc_orphan_pages, smc_quarantined_pages;

static struct timer_list *timers;
static bool (*meanwhile)(void *arg);
static void *meanwhile_arg;

void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *timer), int flags)
{
	(void)flags;
	*timer = (struct timer_list){ .function = function };
}

bool mod_timer(struct timer_list *timer, unsigned long expires)
{
	bool was_pending = timer->is_pending;

	timer->expires = expires;
	timer->is_pending = true;
	if (!was_pending) {
		timer->next = timers;
		timers = timer;
	}
	return was_pending;
}

bool timer_delete(struct timer_list *timer)
{
	struct timer_list **at;

	if (!timer->is_pending)
		return false;
	for (at = &timers; *at != timer; at = &(*at)->next)
		;
	*at = timer->next;
	timer->is_pending = false;
	return true;
}

void kernel_run_work(struct timer_list *timer)
{
	struct delayed_work *dwork = container_of(timer, struct delayed_work, timer);

	dwork->work.func(&dwork->work);
}

static struct timer_list *first_timer(void)
{
	struct timer_list *first = timers, *timer;

	for (timer = timers; timer; timer = timer->next)
		if (timer->expires < first->expires)
			first = timer;
	return first;
}

bool kernel_advance(unsigned long time)
{
	unsigned long end = jiffies + time;
	struct timer_list *timer;
	bool any = false;

	while ((timer = first_timer()) && timer->expires <= end) {
		jiffies = max(jiffies, timer->expires);
		timer_delete(timer);
		timer->function(timer);
		any = true;
	}
	jiffies = end;
	return any;
}

bool kernel_advance_to_timer(unsigned long most)
{
	struct timer_list *timer = first_timer();

	if (!timer || timer->expires > jiffies + most)
		return false;
	return kernel_advance(timer->expires > jiffies ? timer->expires - jiffies : 0);
}

bool kernel_has_timers(void)
{
	return timers;
}

void pair_meanwhile(bool (*fn)(void *arg), void *arg)
{
	meanwhile = fn;
	meanwhile_arg = arg;
}

bool kernel_meanwhile(void)
{
	return meanwhile && meanwhile(meanwhile_arg);
}

int woken_wake_function(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	(void)mode;
	(void)sync;
	(void)key;
	wait->flags |= WQ_FLAG_WOKEN;
	return 1;
}

void __wake_up(struct wait_queue_head *wq, unsigned int mode, int nr, void *key)
{
	(void)nr;
	wq->told |= key_to_poll(key);
	if (wq->sleeper)
		wq->sleeper->func(wq->sleeper, mode, 0, key);
}

void add_wait_queue(struct wait_queue_head *wq, struct wait_queue_entry *wait)
{
	KERNEL_EXPECT(!wq->sleeper);
	wq->sleeper = wait;
}

void remove_wait_queue(struct wait_queue_head *wq, struct wait_queue_entry *wait)
{
	KERNEL_EXPECT(wq->sleeper == wait);
	wq->sleeper = NULL;
}

/* Of the error queue and of control messages: tx_timestamp.c, zerocopy.c and cmsg.c are left out. */

void smc_tx_timestamps_number(struct smc_stream *st, u32 tsflags)
{
	(void)st;
	(void)tsflags;
}

void smc_tx_timestamps_ask(struct smc_stream *st, u32 tsflags)
{
	(void)st;
	(void)tsflags;
}

bool smc_tx_timestamps_are_due(const struct smc_stream *st)
{
	(void)st;
	return false;
}

void smc_tx_timestamps_report(struct smc_stream *st)
{
	(void)st;
}

int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct ubuf_info **notice)
{
	(void)sk;
	(void)msg;
	(void)len;
	*notice = NULL;
	return 0;
}

void smc_zerocopy_end(struct ubuf_info *notice, bool is_sent)
{
	(void)notice;
	(void)is_sent;
}

int smc_stream_take_cmsg(const struct smc_stream *st, struct msghdr *msg, u32 *tsflags)
{
	(void)st;
	(void)msg;
	*tsflags = 0;
	return 0;
}
