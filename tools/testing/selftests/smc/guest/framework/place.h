/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Location of the tests' peer: in another guest, by SMC-R, or in the same guest
 * (run_guest.sh --within), by SMC-D, in a network namespace of its own or in
 * the same one.
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

/*
 * Skips a test of something that exists only between two hosts: RDMA devices,
 * wires, two modules.
 */
#define NEEDS_ANOTHER_HOST(why)                                                                    \
	do {                                                                                       \
		if (guest::peer_within())                                                          \
			GTEST_SKIP() << (why);                                                     \
	} while (0)

/* Returns the LAN of the control connections: the last one. */
int control_lan();

/* Returns the name of a counter of the path to the peer: by_path("write_bytes"). */
std::string by_path(const std::string &what);

/* Returns the part of both ends' amounts that the counters of this namespace include. */
inline int64_t counted(int64_t here, int64_t there)
{
	return peer_place() == Place::host ? here + there : here;
}

/* Returns the sysctl for the size of elements on that path. */
std::string rmem_sysctl();

} // namespace guest

#endif
