/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the peer of the tests is: in another guest, which SMC-R leads to, or in the same one
 * (run_guest.sh --within), by SMC-D: in a network namespace of its own, or in the same.
 */
#ifndef GUEST_PLACE_H
#define GUEST_PLACE_H

#include <cstdint>
#include <string>

namespace guest
{

enum class Place { guest, netns, host };

Place peer_place();

inline bool peer_within()
{
	return peer_place() != Place::guest;
}

/* For tests of what is only between two hosts: RDMA devices, wires, a module each. */
#define NEEDS_ANOTHER_HOST(why)                                                                    \
	do {                                                                                       \
		if (guest::peer_within())                                                          \
			GTEST_SKIP() << (why);                                                     \
	} while (0)

/* The counter of the path that leads to the peer: by_path("write_bytes"). */
std::string by_path(const std::string &what);

/* Of what this end and the peer did, what the counters of this namespace show. */
inline int64_t counted(int64_t here, int64_t there)
{
	return peer_place() == Place::host ? here + there : here;
}

/* The sysctl for the size of elements on that path. */
std::string rmem_sysctl();

} // namespace guest

#endif
