// SPDX-License-Identifier: GPL-2.0
#include "pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace guest
{

namespace
{

/* splitmix64: the words are as independent as those of a random generator. */
uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t z = seed * 0xd1342543de82ef95 + (index + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

} // namespace

void pattern_fill(uint64_t seed, uint64_t position, void *to, size_t len)
{
	char *at = static_cast<char *>(to);

	while (len) {
		uint64_t word = word_at(seed, position / sizeof(word));
		size_t skip = position % sizeof(word);
		size_t n = std::min(len, sizeof(word) - skip);

		memcpy(at, reinterpret_cast<const char *>(&word) + skip, n);
		at += n;
		position += n;
		len -= n;
	}
}

std::string pattern(uint64_t seed, uint64_t position, size_t len)
{
	std::string bytes(len, '\0');

	pattern_fill(seed, position, bytes.data(), len);
	return bytes;
}

size_t pattern_mismatch(uint64_t seed, uint64_t position, const void *bytes, size_t len)
{
	const char *got = static_cast<const char *>(bytes);
	char want[4096];

	for (size_t done = 0; done < len;) {
		size_t n = std::min(len - done, sizeof(want));

		pattern_fill(seed, position + done, want, n);
		if (memcmp(want, got + done, n) != 0)
			return done + (std::mismatch(want, want + n, got + done).first - want);
		done += n;
	}
	return len;
}

std::string pattern_fault(uint64_t seed, uint64_t position, const char *bytes, size_t len)
{
	const size_t right = pattern_mismatch(seed, position, bytes, len);
	const uint64_t wrong = position + right, range = 1 << 20;
	const uint64_t from = wrong - std::min(wrong, range);

	if (right == len)
		return "";

	const std::string near = pattern(seed, from, wrong - from + range);
	const size_t at = near.find(std::string(bytes + right, std::min<size_t>(len - right, 8)));

	return "wrong byte " + std::to_string(wrong) + ", " +
	       (at == near.npos ? "none from nearby" : "byte " + std::to_string(from + at)) +
	       " came";
}

size_t RandomLength::operator()()
{
	double magnitude = std::uniform_real_distribution<>(0, std::log(double(max) + 1))(engine);

	return std::clamp<size_t>(std::exp(magnitude), 1, max);
}

} // namespace guest
