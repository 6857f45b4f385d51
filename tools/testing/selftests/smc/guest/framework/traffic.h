/* SPDX-License-Identifier: GPL-2.0 */
/* Transfer of seeded pseudo-random data over a socket by various calls, with checks. */
#ifndef GUEST_TRAFFIC_H
#define GUEST_TRAFFIC_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace guest
{

enum class SendBy { write, writev, sendmsg, more, sendfile, splice, uring };
enum class RecvBy { read, readv, recvmsg, waitall, peek, splice, uring };

std::string to_string(SendBy by);
std::string to_string(RecvBy by);

/* One direction of a connection: @bytes of the pattern @seed from @position on. */
struct Flow {
	uint64_t seed = 1;
	uint64_t bytes = 0;
	uint64_t position = 0;
	size_t max_chunk = 65536; /* limit of the random lengths of calls */
	SendBy send_by = SendBy::write;
	RecvBy recv_by = RecvBy::read;
};

std::string serialize(const Flow &flow);
Flow flow_from(const std::string &text);

/* These throw on an error, an early end, or a wrong byte. */
void send_flow(int fd, const Flow &flow);
void recv_flow(int fd, const Flow &flow);
/* Sends and receives at the same time, in threads. */
void exchange_flows(int fd, const Flow &out, const Flow &in);
/* Expects the peer's end of the stream, and no byte before it. */
void expect_end(int fd);
/* Sends back all bytes until the stream ends, then shuts down; returns their number. */
uint64_t echo(int fd, size_t max_chunk = 65536);
/* The same; throws at the end if the bytes were not the pattern of @seed. */
uint64_t echo_pattern(int fd, uint64_t seed);

} // namespace guest

#endif
