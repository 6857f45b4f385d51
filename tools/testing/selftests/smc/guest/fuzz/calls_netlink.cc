// SPDX-License-Identifier: GPL-2.0
/* Netlink: both generic families of the module, and sock_diag, with garbage. */
#include <cstring>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/syscall.h>

#include "chance.h"

namespace guest
{

Families families;

namespace
{

/* Messages as they are built, in no more than this. */
class Message
{
public:
	explicit Message(Chance &c) : c(c)
	{
	}
	template <typename T>
	void add(const T &part)
	{
		add(&part, sizeof(part));
	}
	void add(const void *part, size_t len)
	{
		len = std::min(len, sizeof(bytes) - used);
		memcpy(bytes + used, part, len);
		used = std::min(sizeof(bytes), (used + len + 3) & ~size_t(3));
	}
	/* An attribute whose length may be wrong, or which has more within. */
	void add_attribute(int depth = 0)
	{
		size_t at = used, len = c.of(0, 1, 4, 8, 16, 17, 32, 33, 64, 200);
		nlattr head = {0, (uint16_t)(c.one_in(8) ? c.number() : c.below(16))};

		head.nla_type |= c.one_in(6) ? NLA_F_NESTED : 0;
		add(head);
		if (c.one_in(6) && depth < 12)
			add_attribute(depth + 1);
		else if (c.one_in(3))
			add("NET1\0eth0\0lo\0rxe0", len % 17);
		else
			add(c.room(200), len);
		head.nla_len = c.one_in(8) ? c.number() : used - at;
		if (at + sizeof(head) <= sizeof(bytes))
			memcpy(bytes + at, &head, sizeof(head));
	}
	void send(int fd)
	{
		nlmsghdr head;

		memcpy(&head, bytes, sizeof(head));
		head.nlmsg_len = c.one_in(12) ? c.number() : used;
		memcpy(bytes, &head, sizeof(head));
		spoil();
		call(SYS_sendto, fd, bytes, c.one_in(12) ? c.below(used + 1) : used, MSG_DONTWAIT,
		     nullptr, 0);
	}

private:
	/* Some bits flip, all behind the head becomes garbage, or the message comes twice. */
	void spoil()
	{
		constexpr size_t head = sizeof(nlmsghdr);

		if (c.one_in(8))
			add(bytes, used);
		while (c.one_in(6))
			bytes[c.below(used)] ^= 1 << c.below(8);
		if (c.one_in(16))
			memcpy(bytes + head, c.room(used), used - head);
	}

	Chance &c;
	alignas(8) uint8_t bytes[2048] = {};
	size_t used = 0;
};

uint16_t message_flags(Chance &c)
{
	return NLM_F_REQUEST | c.of(0, NLM_F_DUMP, NLM_F_DUMP, NLM_F_ACK, (int)c.bits() & 0xffff);
}

/* A dump that nobody reads to its end is abandoned when the socket closes. */
void take_some(Chance &c, int fd)
{
	for (int i = c.below(4); i > 0; i--) {
		size_t len = c.of(1, 20, 100, 4096, 32768);

		call(SYS_recvfrom, fd, c.room(len), len, MSG_DONTWAIT | c.of(0, MSG_PEEK), nullptr,
		     nullptr);
	}
}

/* New ones, so that each is a netlink socket for sure; some stay for the other calls. */
void ask(Chance &c, int protocol, Message &message)
{
	int fd = call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (c.one_in(8))
		call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, c.filled<int>(c.below(3000)), 4);
	message.send(fd);
	if (c.one_in(4))
		message.send(fd);
	take_some(c, fd);
	if (!c.one_in(16))
		call(SYS_close, fd);
}

void generic(Chance &c)
{
	uint16_t type =
	    c.one_in(24) ? (int)c.bits() : c.of(families.gen, families.gen, families.pnetid);
	uint8_t command = c.one_in(8) ? c.number() : c.one_in(6) ? 128 + c.below(2) : c.below(20);
	Message message(c);

	message.add(nlmsghdr{.nlmsg_type = type, .nlmsg_flags = message_flags(c)});
	message.add(genlmsghdr{command, (uint8_t)c.of(0, 1, 2), 0});
	for (int i = c.below(5); i > 0; i--)
		message.add_attribute();
	ask(c, NETLINK_GENERIC, message);
}

void add_inet(Chance &c, Message &message)
{
	inet_diag_req_v2 wanted = {};

	wanted.sdiag_family = c.of(AF_INET, AF_INET6);
	wanted.sdiag_protocol = c.of(IPPROTO_TCP, 0, 255);
	wanted.idiag_ext = c.bits();
	wanted.idiag_states = c.bits();
	wanted.id.idiag_sport = htons(c.port());
	wanted.id.idiag_dport = htons(c.port());
	wanted.id.idiag_cookie[0] = wanted.id.idiag_cookie[1] = c.one_in(2) ? ~0U : c.bits();
	message.add(wanted);
}

void add_smc(Chance &c, Message &message)
{
	smc_diag_req wanted = {};

	wanted.diag_family = AF_SMC;
	wanted.diag_ext = c.bits();
	if (c.one_in(4))
		memcpy(&wanted, c.room(sizeof(wanted)), sizeof(wanted));
	wanted.diag_family = c.one_in(16) ? c.bits() : AF_SMC;
	message.add(&wanted, c.one_in(12) ? c.below(sizeof(wanted) + 1) : sizeof(wanted));
}

/* SOCK_DESTROY is 21: of one's own sockets, in one's own namespace. */
void diag(Chance &c)
{
	uint16_t type = c.one_in(12) ? c.number() : c.of(20, 20, 20, 21);
	Message message(c);

	message.add(nlmsghdr{.nlmsg_type = type, .nlmsg_flags = message_flags(c)});
	if (c.one_in(3))
		add_inet(c, message);
	else
		add_smc(c, message);
	for (int i = c.below(3); i > 0; i--)
		message.add_attribute();
	ask(c, NETLINK_SOCK_DIAG, message);
}

} // namespace

const std::vector<Call> netlink_calls = {generic, generic, diag};

} // namespace guest
