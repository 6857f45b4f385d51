/* SPDX-License-Identifier: GPL-2.0 */
/* Moving seeded pseudo-random data over a socket by the various calls, and checking it. */
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
	size_t max_chunk = 65536; /* calls have random lengths up to this */
	SendBy send_by = SendBy::write;
	RecvBy recv_by = RecvBy::read;
};

std::string serialize(const Flow &flow);
Flow flow_from(const std::string &text);

/* All of these throw at an error, an early end, or a byte that is wrong. */
void send_flow(int fd, const Flow &flow);
void recv_flow(int fd, const Flow &flow);
/* Both at once, in threads. */
void exchange_flows(int fd, const Flow &out, const Flow &in);
/* The peer's end of the stream, and nothing before it. */
void expect_end(int fd);
/* Send back what comes until it ends, then shut down; returns how many bytes it was. */
uint64_t echo(int fd, size_t max_chunk = 65536);

} // namespace guest

#endif
