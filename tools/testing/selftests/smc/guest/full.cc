// SPDX-License-Identifier: GPL-2.0
#include "full.h"

#include <cerrno>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <string>

#include "place.h"
#include "smc_tool.h"
#include "socket.h"
#include "system.h"

namespace guest
{

namespace
{

tcp_info info_of(int fd)
{
	tcp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		throw_errno("TCP_INFO");
	return info;
}

/* Bytes between the ends of an SMC connection; 0 for TCP. */
size_t room_of(int fd)
{
	nlohmann::json shown = find_socket(fd);

	if (shown.is_null() || shown.at("mode") == "TCP")
		return 0;

	const nlohmann::json &sizes = shown.at("connection");
	size_t room = sizes.at("peer-rmbe");

	/* SMC-D has no other buffer. */
	if (shown.at("mode") == "SMC-R")
		room += sizes.at("sndbuf").get<size_t>();
	return room;
}

} // namespace

TcpInfo tcp_info_of(int fd)
{
	tcp_info info = info_of(fd);

	return {info.tcpi_state, info.tcpi_bytes_sent, info.tcpi_bytes_acked,
		info.tcpi_bytes_received, info.tcpi_notsent_bytes};
}

uint32_t segments_sent(int fd)
{
	return info_of(fd).tcpi_segs_out;
}

size_t fill(int fd)
{
	const std::string bytes(65536, 'f');
	size_t total = 0;
	ssize_t n;

	while ((n = send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
		total += n;
	if (errno != EAGAIN)
		throw_errno("send");
	return total;
}

size_t fill_for_good(int fd, size_t sent)
{
	size_t room = room_of(fd);
	uint32_t asked_from = 0;

	wait_until("all buffers are full", [&] {
		size_t more = fill(fd);

		sent += more;
		if (room)
			return sent == room;

		tcp_info info = info_of(fd);

		/*
		 * The peer has received all that its window allowed, and has closed it. But it may
		 * open the window again when it answers the next probe: two probes must be sent
		 * before the window counts as closed for good.
		 */
		if (more || info.tcpi_unacked || info.tcpi_snd_wnd)
			asked_from = 0;
		else if (!asked_from)
			asked_from = info.tcpi_segs_out;
		return asked_from && info.tcpi_segs_out >= asked_from + 2;
	});
	return sent;
}

int64_t times_sent(int fd, bool by_smc)
{
	if (by_smc)
		return Counters::now()[by_path("writes")];

	tcp_info info = info_of(fd);

	/* Segments that a busy guest did not acknowledge in time are retransmitted. */
	return int64_t(info.tcpi_data_segs_out) - info.tcpi_total_retrans;
}

} // namespace guest
