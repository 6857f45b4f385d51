/* SPDX-License-Identifier: GPL-2.0 */
/* Control messages of recvmsg(). */
#ifndef GUEST_CONTROL_H
#define GUEST_CONTROL_H

#include <cstring>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace guest
{

/* A control message. */
struct Control {
	int level, type;
	std::string data;

	template <typename T>
	T as() const
	{
		T value;

		if (data.size() != sizeof(value))
			throw std::runtime_error("a control message has " +
						 std::to_string(data.size()) + " bytes, not " +
						 std::to_string(sizeof(value)));
		memcpy(&value, data.data(), sizeof(value));
		return value;
	}
};

/* The result of recvmsg(), its errno if that is negative, and the control messages of the bytes. */
struct Received {
	ssize_t rc;
	int error;
	std::vector<Control> controls;

	/* The one of this kind, or nullptr. */
	const Control *find(int level, int type) const
	{
		for (const Control &control : controls)
			if (control.level == level && control.type == type)
				return &control;
		return nullptr;
	}
	/* TCP_CM_INQ, or -1 if there is none. */
	int inq() const
	{
		const Control *control = find(SOL_TCP, TCP_CM_INQ);

		return control ? control->as<int>() : -1;
	}
};

/* Fill the control buffer of @message with one control message of SOL_SOCKET, of @len bytes. */
void put_control(const msghdr &message, int type, const void *data, size_t len);

/* At most @len bytes, which are dropped, and the control messages that come with them. */
Received receive(int fd, size_t len, int flags = 0);

} // namespace guest

#endif
