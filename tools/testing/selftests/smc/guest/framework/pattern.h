/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endless pseudo-random data that any part can be made of at once: what is at a position
 * depends on the seed and the position only, so a lost, doubled, moved or changed byte
 * shows wherever in the stream it is.
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

/* Offset of the first byte that is not the pattern's, or @len. */
size_t pattern_mismatch(uint64_t seed, uint64_t position, const void *bytes, size_t len);

/* Lengths from 1 to @max, each order of magnitude as likely as any other. */
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
