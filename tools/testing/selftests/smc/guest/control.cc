// SPDX-License-Identifier: GPL-2.0
#include "control.h"

#include <cerrno>

namespace guest
{

void put_control(const msghdr &message, int type, const void *data, size_t len)
{
	cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = type;
	header->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(header), data, len);
}

Received receive(int fd, size_t len, int flags)
{
	alignas(cmsghdr) char control[1024];
	std::string bytes(len, '\0');
	iovec piece = {bytes.data(), len};
	msghdr message = {};
	Received received;

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	received.rc = recvmsg(fd, &message, flags);
	received.error = received.rc < 0 ? errno : 0;
	if (received.rc < 0)
		return received;
	for (cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		auto *data = reinterpret_cast<const char *>(CMSG_DATA(header));

		received.controls.push_back({header->cmsg_level, header->cmsg_type,
					     std::string(data, header->cmsg_len - CMSG_LEN(0))});
	}
	return received;
}

} // namespace guest
