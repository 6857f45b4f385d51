// SPDX-License-Identifier: GPL-2.0
/* Calls that move bytes. */
#include <array>
#include <climits>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "chance.h"

namespace guest
{

namespace
{

uint64_t message_flags(Chance &c)
{
	if (c.one_in(2))
		return MSG_DONTWAIT | c.of(0, MSG_PEEK, MSG_MORE, MSG_WAITALL);
	return c.flags({MSG_OOB, MSG_PEEK, MSG_DONTROUTE, MSG_CTRUNC, MSG_TRUNC, MSG_DONTWAIT,
			MSG_EOR, MSG_WAITALL, MSG_NOSIGNAL, MSG_MORE, MSG_ERRQUEUE, MSG_WAITFORONE,
			MSG_ZEROCOPY, MSG_FASTOPEN, MSG_CMSG_CLOEXEC});
}

iovec *vector(Chance &c, size_t n)
{
	auto *parts = reinterpret_cast<iovec *>(c.room(n * sizeof(iovec)));

	for (size_t i = 0; i < n; i++) {
		size_t len = c.length();

		parts[i] = {c.pointer(len), len};
	}
	return parts;
}

/* Control messages with a length that is mostly right. */
size_t fill_control(Chance &c, uint8_t *at, size_t size)
{
	size_t used = 0;

	while (used + sizeof(cmsghdr) + 16 <= size && !c.one_in(3)) {
		auto *head = reinterpret_cast<cmsghdr *>(at + used);
		size_t data = c.of(0, 1, 4, 8, 12, 16);

		head->cmsg_len = c.one_in(8) ? c.number() : CMSG_LEN(data);
		head->cmsg_level =
		    c.of(SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, 286, (int)c.number());
		head->cmsg_type = c.one_in(4) ? c.number() : c.below(64);
		*reinterpret_cast<int *>(CMSG_DATA(head)) = c.fd();
		used += CMSG_SPACE(data);
	}
	return used;
}

void fill_message(Chance &c, msghdr &message)
{
	uint8_t *control = c.room(256);
	size_t n = c.below(5);

	message.msg_iov = vector(c, n);
	message.msg_iovlen = c.one_in(16) ? c.of((size_t)IOV_MAX + 1, c.number()) : n;
	message.msg_name = c.one_in(3) ? c.address(&message.msg_namelen) : nullptr;
	if (!message.msg_name)
		message.msg_namelen = c.one_in(8) ? c.number() : 0;
	message.msg_control = c.one_in(2) ? control : nullptr;
	message.msg_controllen = message.msg_control ? fill_control(c, control, 256) : 0;
	if (c.one_in(12))
		message.msg_controllen = c.number();
	message.msg_flags = message_flags(c);
}

msghdr *message(Chance &c)
{
	msghdr *one = c.filled(msghdr());

	fill_message(c, *one);
	return c.one_in(24) ? reinterpret_cast<msghdr *>(c.pointer(sizeof(*one))) : one;
}

void sendto(Chance &c)
{
	size_t len = c.length();
	socklen_t to_len = 0;
	sockaddr *to = c.one_in(4) ? c.address(&to_len) : nullptr;

	call(SYS_sendto, c.fd(), c.pointer(len), len, message_flags(c), to, to_len);
}

void recvfrom(Chance &c)
{
	size_t len = c.length();
	socklen_t *from_len = c.filled<socklen_t>(c.length());

	call(SYS_recvfrom, c.fd(), c.pointer(len), len, message_flags(c),
	     c.one_in(3) ? c.pointer(128) : nullptr, from_len);
}

void sendmsg(Chance &c)
{
	call(SYS_sendmsg, c.fd(), message(c), message_flags(c));
}

void recvmsg(Chance &c)
{
	call(SYS_recvmsg, c.fd(), message(c), message_flags(c));
}

mmsghdr *messages(Chance &c, size_t n)
{
	auto *all = reinterpret_cast<mmsghdr *>(c.room(n * sizeof(mmsghdr)));

	for (size_t i = 0; i < n; i++)
		fill_message(c, all[i].msg_hdr);
	return all;
}

void sendmmsg(Chance &c)
{
	size_t n = c.below(4);

	call(SYS_sendmmsg, c.fd(), messages(c, n), c.one_in(16) ? c.number() : n, message_flags(c));
}

void recvmmsg(Chance &c)
{
	size_t n = c.below(4);
	timespec *most = c.filled(timespec{0, (long)c.below(2000000)});

	call(SYS_recvmmsg, c.fd(), messages(c, n), c.one_in(16) ? c.number() : n, message_flags(c),
	     c.one_in(3) ? reinterpret_cast<timespec *>(c.pointer(16)) : most);
}

void read_write(Chance &c)
{
	size_t len = c.length();

	call(c.of(SYS_read, SYS_write), c.fd(), c.pointer(len), len);
}

void vectors(Chance &c)
{
	size_t n = c.below(5);

	call(c.of(SYS_readv, SYS_writev), c.fd(), vector(c, n), c.one_in(12) ? c.number() : n);
}

void at_offset(Chance &c)
{
	size_t len = c.length();

	call(c.of(SYS_pread64, SYS_pwrite64), c.fd(), c.pointer(len), len, c.number());
}

void vectors_with_flags(Chance &c)
{
	size_t n = c.below(5);

	/* RWF_* */
	call(c.of(SYS_preadv2, SYS_pwritev2), c.fd(), vector(c, n), n, -1, -1,
	     c.flags({1, 2, 4, 8, 16, 32}));
}

void pipe(Chance &c)
{
	call(SYS_pipe2, c.pointer(8), c.flags({O_NONBLOCK, O_CLOEXEC, O_DIRECT}));
}

void file(Chance &c)
{
	int fd = call(SYS_memfd_create, "fuzz", c.below(2));

	call(SYS_ftruncate, fd, c.below(Arena::size));
}

uint64_t splice_flags(Chance &c)
{
	return c.flags({SPLICE_F_MOVE, SPLICE_F_NONBLOCK, SPLICE_F_MORE, SPLICE_F_GIFT});
}

void splice(Chance &c)
{
	call(SYS_splice, c.fd(), c.one_in(8) ? c.pointer(8) : nullptr, c.fd(),
	     c.one_in(8) ? c.pointer(8) : nullptr, c.length(), splice_flags(c));
}

/* Through a pipe, for sure. */
void splice_through(Chance &c)
{
	int *ends = c.filled(-1);

	if (call(SYS_pipe2, ends, O_NONBLOCK))
		return;

	int out = ends[0], in = ends[1];

	call(SYS_splice, c.fd(), nullptr, in, nullptr, c.length(), splice_flags(c));
	call(SYS_write, in, c.room(100), 100);
	call(SYS_splice, out, nullptr, c.fd(), nullptr, c.length(), splice_flags(c));
	if (c.one_in(4))
		return;
	call(SYS_close, out);
	call(SYS_close, in);
}

void tee(Chance &c)
{
	call(SYS_tee, c.fd(), c.fd(), c.length(), splice_flags(c));
}

void vmsplice(Chance &c)
{
	size_t n = c.below(5);

	call(SYS_vmsplice, c.fd(), vector(c, n), n, splice_flags(c));
}

void sendfile(Chance &c)
{
	call(c.one_in(8) ? SYS_copy_file_range : SYS_sendfile, c.fd(), c.fd(),
	     c.one_in(3) ? c.pointer(8) : nullptr, c.length());
}

/* TCP_ZEROCOPY_RECEIVE needs what mmap() of a socket gives. */
void map(Chance &c)
{
	size_t len = 4096 * c.below(16);
	long at = call(SYS_mmap, nullptr, len, PROT_READ | c.of(0, PROT_WRITE),
		       c.of(MAP_SHARED, MAP_PRIVATE), c.fd(), 0);

	if (at == -1)
		return;

	/* The address, and a length of 32 bits. */
	uint64_t *zerocopy = c.filled(std::array<uint64_t, 9>{(uint64_t)at, c.length()})->data();

	call(SYS_getsockopt, c.fd(), IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, zerocopy,
	     c.filled<int>(c.below(73)));
	call(SYS_munmap, at, len);
}

} // namespace

const std::vector<Call> byte_calls = {
    sendto,	sendto,	  sendto,   recvfrom,  recvfrom,	   recvfrom, sendmsg, sendmsg,
    recvmsg,	recvmsg,  sendmmsg, recvmmsg,  read_write,	   pipe,     vectors, at_offset,
    read_write, file,	  splice,   splice,    splice_through,	   tee,	     map,     vmsplice,
    sendfile,	sendfile, vectors,  make_pair, vectors_with_flags,
};

} // namespace guest
