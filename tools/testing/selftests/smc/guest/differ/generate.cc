// SPDX-License-Identifier: GPL-2.0
#include "generate.h"

#include <algorithm>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <random>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "option.h"

namespace differ
{

namespace
{

class Generator
{
public:
	explicit Generator(uint64_t seed) : engine(seed)
	{
	}

	Steps sequence();

private:
	struct Entry {
		Op op;
		int weight;
		Step (Generator::*make)();
	};
	static const Entry entries[];

	/* 0 to @n - 1 */
	int below(int n)
	{
		return engine() % n;
	}
	bool one_in(int n)
	{
		return below(n) == 0;
	}
	template <class T>
	T one_of(std::initializer_list<T> values)
	{
		return values.begin()[below(values.size())];
	}
	/* Mostly none of them, now and then several. */
	int flags_of(std::initializer_list<int> flags, int rarity)
	{
		int bits = 0;

		for (int flag : flags)
			if (one_in(rarity))
				bits |= flag;
		return bits;
	}
	/* One that some step has made a socket in, mostly. */
	int used_slot()
	{
		return used && !one_in(40) ? below(used) : below(slots);
	}
	int length()
	{
		switch (below(12)) {
		case 0:
			return 0;
		case 1:
			return 100 + below(3000);
		case 2:
			return one_in(3) ? 5000 + below(20000) : 1;
		default:
			return 1 + below(12);
		}
	}
	Step on_slot(Op op)
	{
		return {op, used_slot()};
	}
	const Option &option()
	{
		return all_options()[below(all_options().size())];
	}

	Step make_pair();
	Step make_socket();
	Step make_bind();
	Step make_listen();
	Step make_connect();
	Step make_accept();
	Step make_shutdown();
	Step make_dup();
	Step make_nonblock();
	Step make_async();
	Step make_linger();
	Step make_set();
	Step make_get();
	Step make_send();
	Step make_recv();
	Step make_sendfile();
	Step make_splice_in();
	Step make_splice_out();
	Step make_fork_send();
	Step make_fork_recv();
	Step make_wake();
	Step make_epoll_add();
	Step make_epoll_mod();

	Step any();
	void begin(Steps &steps);

	std::mt19937_64 engine;
	/* Slots below that are likely to have sockets. */
	int used = 0;
};

const Generator::Entry Generator::entries[] = {
    {Op::pair, 2, &Generator::make_pair},
    {Op::socket, 2, &Generator::make_socket},
    {Op::bind, 2, &Generator::make_bind},
    {Op::listen, 2, &Generator::make_listen},
    {Op::connect, 4, &Generator::make_connect},
    {Op::accept, 4, &Generator::make_accept},
    {Op::unspec, 2, nullptr},
    {Op::shutdown, 8, &Generator::make_shutdown},
    {Op::close, 5, nullptr},
    {Op::dup, 2, &Generator::make_dup},
    {Op::pass, 1, nullptr},
    {Op::nonblock, 3, &Generator::make_nonblock},
    {Op::async, 2, &Generator::make_async},
    {Op::linger, 4, &Generator::make_linger},
    {Op::set, 30, &Generator::make_set},
    {Op::get, 20, &Generator::make_get},
    {Op::names, 3, nullptr},
    {Op::send, 60, &Generator::make_send},
    {Op::recv, 60, &Generator::make_recv},
    {Op::errqueue, 4, nullptr},
    {Op::sendfile, 4, &Generator::make_sendfile},
    {Op::splice_in, 4, &Generator::make_splice_in},
    {Op::splice_out, 6, &Generator::make_splice_out},
    {Op::fork_send, 1, &Generator::make_fork_send},
    {Op::fork_recv, 1, &Generator::make_fork_recv},
    {Op::fork_close, 1, nullptr},
    {Op::fill, 1, nullptr},
    {Op::drain, 1, nullptr},
    {Op::wake, 5, &Generator::make_wake},
    {Op::select, 4, nullptr},
    {Op::epoll_add, 6, &Generator::make_epoll_add},
    {Op::epoll_mod, 2, &Generator::make_epoll_mod},
    {Op::epoll_del, 1, nullptr},
    {Op::epoll_wait, 12, nullptr},
};

Step Generator::make_pair()
{
	int first = std::min(used, slots - 2);

	used = first + 2;
	return {Op::pair, first, first + 1};
}

Step Generator::make_socket()
{
	int slot = std::min(used, slots - 1);

	used = slot + 1;
	return {Op::socket, slot, flags_of({SOCK_NONBLOCK}, 2)};
}

Step Generator::make_bind()
{
	return {Op::bind, used_slot(), below(ports)};
}

Step Generator::make_listen()
{
	return {Op::listen, used_slot(), 1 + below(3)};
}

Step Generator::make_connect()
{
	return {Op::connect, used_slot(), below(ports)};
}

Step Generator::make_accept()
{
	int from = used_slot(), slot = std::min(used, slots - 1);

	used = slot + 1;
	return {Op::accept, from, slot, flags_of({SOCK_NONBLOCK}, 3)};
}

Step Generator::make_shutdown()
{
	return {Op::shutdown, used_slot(),
		one_in(30) ? 3 : one_of({SHUT_RD, SHUT_WR, SHUT_WR, SHUT_WR, SHUT_RDWR})};
}

Step Generator::make_dup()
{
	int from = used_slot(), slot = std::min(used, slots - 1);

	used = slot + 1;
	return {Op::dup, from, slot};
}

Step Generator::make_nonblock()
{
	return {Op::nonblock, used_slot(), below(2)};
}

Step Generator::make_async()
{
	return {Op::async, used_slot(), below(2)};
}

Step Generator::make_linger()
{
	return {Op::linger, used_slot(), below(3) > 0, below(2)};
}

Step Generator::make_set()
{
	const Option *one;

	/* TCP_CORK makes each send take 200 ms. */
	do
		one = &option();
	while (one->values.empty() || (one->option == TCP_CORK && !one_in(8)));
	/* Three options that change how bytes are read come more often. */
	if (one_in(3))
		one = find_option(SOL_SOCKET, one_of({SO_OOBINLINE, SO_RCVLOWAT, SO_PEEK_OFF}));
	return {Op::set, used_slot(), one->level, one->option,
		one->values[below(one->values.size())]};
}

Step Generator::make_get()
{
	const Option &one = one_in(4) ? *find_option(SOL_SOCKET, SO_ERROR) : option();

	return {Op::get, used_slot(), one.level, one.option, one_in(5) ? below(20) : 64};
}

Step Generator::make_send()
{
	int flags = flags_of({MSG_DONTWAIT}, 2) | flags_of({MSG_NOSIGNAL}, 3) |
		    flags_of({MSG_OOB}, 5) | flags_of({MSG_EOR, MSG_CONFIRM, MSG_ZEROCOPY}, 30) |
		    /* It holds bytes back for 200 ms. */
		    flags_of({MSG_MORE}, 200) | flags_of({MSG_DONTROUTE, MSG_PEEK, MSG_TRUNC}, 60);

	return {Op::send, used_slot(), length(), flags,
		one_in(12) ? one_of({by_many, by_fault, by_control})
			   : one_of({by_call, by_call, by_call, by_rw, by_vector, by_msg, by_msg,
				     by_uring})};
}

Step Generator::make_recv()
{
	/* Calls that wait take their time. */
	int flags = (one_in(10) ? 0 : MSG_DONTWAIT) | flags_of({MSG_PEEK}, 4) |
		    flags_of({MSG_OOB}, 6) | flags_of({MSG_WAITALL}, 8) |
		    flags_of({MSG_TRUNC}, 12) |
		    flags_of({MSG_NOSIGNAL, MSG_CMSG_CLOEXEC, MSG_DONTROUTE, MSG_CTRUNC}, 60);
	Way way = one_of({by_call, by_call, by_call, by_call, by_msg, by_msg, by_uring});

	/* These have no flags, and wait. */
	if (one_in(16))
		way = one_of({by_rw, by_vector});
	if (one_in(16))
		way = one_of({by_many, by_fault, by_control});
	return {Op::recv, used_slot(), length(), flags, way};
}

Step Generator::make_sendfile()
{
	return {Op::sendfile, used_slot(), length()};
}

Step Generator::make_splice_in()
{
	return {Op::splice_in, used_slot(), length(),
		flags_of({SPLICE_F_MOVE, SPLICE_F_NONBLOCK}, 2) | flags_of({SPLICE_F_MORE}, 100)};
}

Step Generator::make_splice_out()
{
	return {Op::splice_out, used_slot(), length(),
		(one_in(10) ? 0 : SPLICE_F_NONBLOCK) | flags_of({SPLICE_F_MOVE}, 2)};
}

Step Generator::make_fork_send()
{
	return {Op::fork_send, used_slot(), length(), flags_of({MSG_OOB}, 4)};
}

Step Generator::make_fork_recv()
{
	return {Op::fork_recv, used_slot(), length(),
		MSG_DONTWAIT | flags_of({MSG_PEEK, MSG_OOB}, 5)};
}

Step Generator::make_wake()
{
	int slot = used_slot();

	return {Op::wake, slot, slot ^ 1, below(10), below(wakers)};
}

Step Generator::make_epoll_add()
{
	return {Op::epoll_add, used_slot(),
		int(flags_of({EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP}, 2) |
		    (one_in(3) ? 0U : unsigned(EPOLLET)) | (one_in(6) ? EPOLLONESHOT : 0U))};
}

Step Generator::make_epoll_mod()
{
	Step step = make_epoll_add();

	step.op = Op::epoll_mod;
	return step;
}

Step Generator::any()
{
	static const int total = [] {
		int sum = 0;

		for (const Entry &entry : entries)
			sum += entry.weight;
		return sum;
	}();
	int left = below(total);
	const Entry *entry = entries;

	while (left >= entry->weight)
		left -= (entry++)->weight;
	return entry->make ? (this->*entry->make)() : on_slot(entry->op);
}

/* Nearly every sequence begins with a connection, made at once or step by step. */
void Generator::begin(Steps &steps)
{
	auto in_between = [&] {
		while (one_in(3))
			steps.push_back(any());
	};

	if (!one_in(6)) {
		steps.push_back(make_pair());
		return;
	}
	used = 2;
	steps.push_back({Op::socket, 0, flags_of({SOCK_NONBLOCK}, 2)});
	steps.push_back({Op::socket, 1, flags_of({SOCK_NONBLOCK}, 3)});
	in_between();
	steps.push_back({Op::bind, 0, 0});
	in_between();
	steps.push_back({Op::listen, 0, 1 + below(3)});
	in_between();
	steps.push_back({Op::connect, 1, 0});
	in_between();
	used = std::max(used, 3);
	steps.push_back({Op::accept, 0, 2, flags_of({SOCK_NONBLOCK}, 3)});
}

Steps Generator::sequence()
{
	Steps steps;
	int count = 4 + below(14);

	begin(steps);
	for (int i = 0; i < count; i++)
		steps.push_back(any());
	return steps;
}

} // namespace

Steps generate(uint64_t seed)
{
	return Generator(seed).sequence();
}

} // namespace differ
