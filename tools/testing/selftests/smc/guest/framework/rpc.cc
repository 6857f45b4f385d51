// SPDX-License-Identifier: GPL-2.0
#include "rpc.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/socket.h>

namespace guest
{

namespace
{

bool write_all(int fd, const std::string &bytes)
{
	size_t done = 0;

	while (done < bytes.size()) {
		ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			done += n;
	}
	return true;
}

bool read_all(int fd, void *to, size_t len)
{
	char *at = static_cast<char *>(to);

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0) {
			at += n;
			len -= n;
		}
	}
	return true;
}

void put(std::string &bytes, uint32_t number)
{
	bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

} // namespace

bool write_message(int fd, const Message &message)
{
	std::string bytes;

	put(bytes, message.size());
	for (const std::string &item : message) {
		put(bytes, item.size());
		bytes += item;
	}
	return write_all(fd, bytes);
}

bool read_message(int fd, Message &message)
{
	uint32_t items;

	message.clear();
	if (!read_all(fd, &items, sizeof(items)))
		return false;
	while (items--) {
		uint32_t len;

		if (!read_all(fd, &len, sizeof(len)))
			return false;
		message.emplace_back(len, '\0');
		if (!read_all(fd, message.back().data(), len))
			return false;
	}
	return true;
}

} // namespace guest
