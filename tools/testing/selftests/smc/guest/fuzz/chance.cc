// SPDX-License-Identifier: GPL-2.0
#include "chance.h"

#include <cstring>
#include <netinet/in.h>
#include <sys/mman.h>

#include "system.h"

namespace guest
{

constexpr size_t page = 4096;

static uint8_t *map(size_t len, int protection)
{
	void *at = mmap(nullptr, len, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw_errno("mmap");
	return static_cast<uint8_t *>(at);
}

Arena::Arena() : begin(map(size + page, PROT_READ | PROT_WRITE)), constant(map(page, PROT_READ))
{
	if (munmap(begin + size, page))
		throw_errno("munmap");
}

Chance::Chance(uint64_t seed, Arena &arena, int first_port)
    : engine(seed), arena(arena), first_port(first_port)
{
}

uint64_t Chance::number()
{
	uint64_t n = bits();

	switch (below(8)) {
	case 0:
		return n;
	case 1:
		return n & 0xff;
	case 2:
		return 1ULL << (n % 64);
	case 3:
		return (1ULL << (n % 64)) - 1;
	case 4:
		return -(n % 4096);
	case 5:
		return of(0x7fffffffULL, 0x80000000ULL, 0xffffffffULL, 0x7fffffffffffffffULL,
			  0xfffffffffffff000ULL, 0xffffULL, 0x10000ULL);
	default:
		return n % 17;
	}
}

uint64_t Chance::length()
{
	switch (below(16)) {
	case 0:
		return number();
	case 1:
	case 2:
		return below(Arena::size);
	case 3:
	case 4:
	case 5:
		return below(page);
	default:
		return below(129);
	}
}

int Chance::fd()
{
	return one_in(200) ? (int)number() : 3 + (int)below(fd_end - 3);
}

uint8_t *Chance::room(size_t wanted)
{
	wanted = std::min(wanted, Arena::size);

	/* Room that ends where the arena ends shows calls that read beyond it. */
	uint8_t *at =
	    arena.begin + (one_in(3) ? Arena::size - wanted : below(Arena::size - wanted + 1));

	for (size_t i = 0; i < std::min<size_t>(wanted, 64); i += sizeof(uint64_t)) {
		uint64_t n = one_in(2) ? number() : number() & 0xffffffff;

		memcpy(at + i, &n, std::min(sizeof(n), wanted - i));
	}
	return at;
}

uint8_t *Chance::pointer(size_t wanted)
{
	switch (below(24)) {
	case 0:
		return nullptr;
	case 1:
		return reinterpret_cast<uint8_t *>(number());
	case 2:
		return arena.constant + below(page);
	case 3:
		/* The last bytes are missing. */
		return arena.begin + Arena::size - below(std::min<size_t>(wanted + 1, 64));
	case 4:
		/* Of the kernel. */
		return reinterpret_cast<uint8_t *>(0xffff888000000000 + below(1 << 30));
	default:
		return room(wanted);
	}
}

void *Chance::copied(const void *value, size_t len)
{
	return memcpy(room(len), value, len);
}

uint64_t Chance::flags(std::initializer_list<uint64_t> all)
{
	uint64_t some = 0;

	if (one_in(30))
		return number();
	for (uint64_t flag : all)
		some |= one_in(4) ? flag : 0;
	return some;
}

uint16_t Chance::port()
{
	return one_in(20) ? number() : first_port + below(4);
}

sockaddr *Chance::address(socklen_t *len)
{
	sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(port())};
	sockaddr_in to = {.sin_family = AF_INET, .sin_port = to6.sin6_port};
	in6_addr mapped = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
	bool four = one_in(2);

	to.sin_addr.s_addr = htonl(of(INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_ANY, 0x7f000002U));
	to6.sin6_addr = of(in6addr_loopback, in6addr_loopback, in6addr_any, mapped);
	to6.sin6_scope_id = one_in(8) ? number() : 0;
	if (one_in(16))
		to.sin_family = to6.sin6_family = of(AF_UNSPEC, AF_SMC, AF_UNIX, AF_INET, AF_INET6);
	*len = one_in(16) ? number() : four ? sizeof(to) : sizeof(to6);
	if (one_in(24))
		return reinterpret_cast<sockaddr *>(pointer(*len));
	return four ? reinterpret_cast<sockaddr *>(filled(to))
		    : reinterpret_cast<sockaddr *>(filled(to6));
}

} // namespace guest
