/* SPDX-License-Identifier: GPL-2.0 */
/* Random arguments of a thread's calls: numbers that kernels stumble over, pointers, sockets. */
#ifndef FUZZ_CHANCE_H
#define FUZZ_CHANCE_H

#include <cstdint>
#include <initializer_list>
#include <random>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace guest
{

/* Of a process, for all of its threads: one may change what a call of another just reads. */
class Arena
{
public:
	Arena();

	static constexpr size_t size = 256 * 1024;
	/* Behind these bytes is nothing. */
	uint8_t *begin;
	/* A page that can only be read. */
	uint8_t *constant;
};

class Chance
{
public:
	Chance(uint64_t seed, Arena &arena, int first_port);

	uint64_t bits()
	{
		return engine();
	}
	/* From 0 on. */
	uint64_t below(uint64_t end)
	{
		return engine() % end;
	}
	bool one_in(uint64_t n)
	{
		return below(n) == 0;
	}
	template <typename... T>
	std::common_type_t<T...> of(T... values)
	{
		std::common_type_t<T...> all[] = {static_cast<std::common_type_t<T...>>(values)...};

		return all[below(sizeof...(T))];
	}
	template <typename T>
	const T &among(const std::vector<T> &all)
	{
		return all[below(all.size())];
	}

	/* One that an if or an addition may have forgotten. */
	uint64_t number();
	/* Mostly the length of something small. */
	uint64_t length();
	/* A descriptor that is likely open. */
	int fd();
	/* Room for so many bytes, written to at random, or nothing that a program may touch. */
	uint8_t *pointer(size_t wanted = 64);
	/* Room for sure. */
	uint8_t *room(size_t wanted);
	template <typename T>
	T *filled(const T &value)
	{
		return static_cast<T *>(copied(&value, sizeof(value)));
	}
	/* Some of these flags, or any. */
	uint64_t flags(std::initializer_list<uint64_t> all);
	/* A port that others of this process use. */
	uint16_t port();
	/* An address that is mostly right, and its length, which is, too. */
	sockaddr *address(socklen_t *len);

private:
	void *copied(const void *value, size_t len);

	std::mt19937_64 engine;
	Arena &arena;
	int first_port;
};

/* Descriptors of a process end here, so that most numbers below are open. */
constexpr int fd_end = 56;

/* No wrapper of libc's looks at the arguments. */
template <typename... T>
long call(long number, T... arguments)
{
	return syscall(number, (long)arguments...);
}

using Call = void (*)(Chance &);

/* By what they are about. */
extern const std::vector<Call> socket_calls, byte_calls, option_calls, file_calls, netlink_calls;
/* The next of what the differential tester would call. */
extern const std::vector<Call> step_calls;

/* A connection of two sockets of this process. */
void make_pair(Chance &chance);

/* Of the generic netlink families of the module, found before. */
struct Families {
	int gen, pnetid;
};
extern Families families;

} // namespace guest

#endif
