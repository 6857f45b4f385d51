/* SPDX-License-Identifier: GPL-2.0 */
/* A connection that takes no more, because nobody reads at its other end. */
#ifndef GUEST_FULL_H
#define GUEST_FULL_H

#include <cstddef>
#include <cstdint>

namespace guest
{

/* Sends as much as goes without waiting. Return: bytes. */
size_t fill(int fd);

/*
 * The same until all buffers on the way are full, so that nothing moves until the peer reads, and
 * nobody who waits for room is woken. @sent: bytes of before that the peer has not read. Return:
 * bytes on the way.
 */
size_t fill_for_good(int fd, size_t sent = 0);

/*
 * The number of times that this end has sent data: publishes of SMC (in one namespace also the
 * peer's), or segments of TCP.
 */
int64_t times_sent(int fd, bool by_smc);

/* The fields of TCP_INFO that are the stream's. The counts include the SYN, and a FIN. */
struct TcpInfo {
	uint64_t state, sent, acked, received, unsent;

	bool operator==(const TcpInfo &) const = default;
};

TcpInfo tcp_info_of(int fd);
/* The number of TCP's segments that this end has sent, with the SYN and acknowledgements. */
uint32_t segments_sent(int fd);

} // namespace guest

#endif
