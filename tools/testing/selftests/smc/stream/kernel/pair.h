/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two streams, each the other's peer, over a path that carries messages when a test says so. They
 * are the real ones: a test sees of them what their verbs say and what they make the path do.
 *
 * A message of PAIR_WIRE passes three stations. It lands: its bytes are read out of the sender's
 * ring, as late as that may be, and are in the receiver's element. After that, in any order, its
 * sender hears that it completed, and its receiver gets it. PAIR_LOCAL is a path inside a host: one
 * lock, each sends into the other's element, and a publish is there when it returns.
 */
#ifndef SMC_TEST_PAIR_H
#define SMC_TEST_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pair;
struct end;

enum pair_kind {
	PAIR_WIRE,
	PAIR_LOCAL,
};

/* As many messages may be under way from one end. */
#define PAIR_SLOTS	8

struct pair_setup {
	enum pair_kind kind;
	uint32_t element[2];	/* bytes, what each end receives into */
	uint32_t ring[2];	/* bytes that PAIR_WIRE sends from; they divide the other's element */
	bool is_unsignaled;	/* PAIR_WIRE: no completion where nobody is known to wait for it */
};

struct pair *pair_make(const struct pair_setup *setup);
/* Both ends are lost first, and closed if their applications have not closed them. */
void pair_free(struct pair *pair);
struct end *pair_end(struct pair *pair, int which);

/* The path, each for what @from has published. Return: whether there was anything to do. */
bool pair_land(struct end *from);
bool pair_complete(struct end *from);
bool pair_deliver(struct end *from);
/* All that there is to do, until nothing is. */
void pair_run(struct pair *pair);
/* The path is gone for this end: nothing arrives or leaves. */
void end_lose(struct end *end, int err);
/*
 * The path of PAIR_WIRE moves to another link. Messages of @end that have not landed are lost, and
 * no earlier message completes any more. Messages that have landed may still be delivered.
 */
void end_move(struct end *end);
/* The path has no room for what @end publishes, until it is told that there is some again. */
void end_set_full(struct end *end, bool is_full);
/* Give @end a message that its peer never sent, with a producer cursor @ahead of what it has. */
void end_forge(struct end *end, uint32_t ahead, uint8_t prod_flags, uint8_t conn_flags);

/* The application. */
ssize_t end_send(struct end *end, const void *bytes, size_t len, int flags);
ssize_t end_recv(struct end *end, void *bytes, size_t len, int flags);
ssize_t end_splice(struct end *end, void *bytes, size_t len, bool may_wait);
void end_shutdown(struct end *end, int how);
/* As close() does: by a reset if bytes are unread. It goes on as an orphan if it has to. */
void end_close(struct end *end, long linger);
/* By SO_LINGER with zero seconds. */
void end_close_by_reset(struct end *end);
bool end_disconnect(struct end *end);
void end_abort(struct end *end, int err);
unsigned int end_poll(struct end *end);
bool end_at_mark(const struct end *end);
uint64_t end_queued(const struct end *end);
uint64_t end_unsent(const struct end *end);
uint64_t end_undelivered(const struct end *end);

void end_set_cork(struct end *end, bool is_corked);
void end_set_nodelay(struct end *end);
void end_set_oobinline(struct end *end);
void end_set_rcvlowat(struct end *end, int bytes);
void end_set_user_timeout(struct end *end, unsigned int ms);
void end_set_notsent_lowat(struct end *end, uint32_t bytes);

/* EPOLL* that sleepers were told of since the last call. */
unsigned int end_told(struct end *end);
int end_error(const struct end *end);
unsigned int end_urgent_signals(const struct end *end);
/* The path was told that the stream is over. */
bool end_is_over(const struct end *end);
bool end_is_freed(const struct end *end);
bool end_is_closed(const struct end *end);
bool end_is_reset(const struct end *end);
bool end_has_failed(const struct end *end);
bool end_has_ended(const struct end *end);
/* TCP's connection below a closed stream was let go, or needs nobody. */
bool end_tcp_is_released(const struct end *end);
/* Messages that the end has published, and bytes. */
unsigned int end_published(const struct end *end);
uint64_t end_published_bytes(const struct end *end);
/* Of the last one. */
uint8_t end_last_prod_flags(const struct end *end);
uint8_t end_last_conn_flags(const struct end *end);
/* The flags of the end of the stream that the end has received. */
uint8_t end_peer_conn_flags(const struct end *end);
unsigned int pair_violations(const struct pair *pair);
/* Return: what does not hold between the positions, see tx.h and rx.h, or NULL. */
const char *pair_broken(const struct pair *pair);

/* Time passes. Return: whether any timer or work ran. */
bool kernel_advance(unsigned long ms);
/* To the next of them, if that is no later than in @most. */
bool kernel_advance_to_timer(unsigned long most);
bool kernel_has_timers(void);
/* Have @fn called while a thread sleeps. It returns false once nothing more happens. */
void pair_meanwhile(bool (*fn)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif
