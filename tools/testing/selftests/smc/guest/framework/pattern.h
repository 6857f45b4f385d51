/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endless pseudo-random data of which any part can be generated directly: the
 * byte at a position depends on the seed and the position only. So a lost,
 * duplicated, moved or changed byte is detected wherever in the stream it is.
 */
#ifndef GUEST_PATTERN_H
#define GUEST_PATTERN_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace guest
{

void pattern_fill(uint64_t seed, uint64_t position, void *to, size_t len);
std::string pattern(uint64_t seed, uint64_t position, size_t len);

/* Returns the offset of the first byte that differs from the pattern, or @len. */
size_t pattern_mismatch(uint64_t seed, uint64_t position, const void *bytes, size_t len);

/*
 * Returns a text about the first wrong byte, or "". It says where, within 1 MiB, the pattern has
 * the eight bytes that came instead. Those from further on were sent too early, those from before
 * were sent once more or never replaced.
 */
std::string pattern_fault(uint64_t seed, uint64_t position, const char *bytes, size_t len);

/* Random lengths from 1 to @max; all orders of magnitude are equally likely. */
class RandomLength
{
public:
	RandomLength(uint64_t seed, size_t max) : engine(seed), max(max)
	{
	}
	size_t operator()();

private:
	std::mt19937_64 engine;
	size_t max;
};

} // namespace guest

#endif
