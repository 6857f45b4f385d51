/* SPDX-License-Identifier: GPL-2.0 */
/* The bytes that sequences send, and how reports show bytes. */
#ifndef DIFFER_BYTES_H
#define DIFFER_BYTES_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace differ
{

/* Of a stream, in which bytes that are near each other differ. */
std::string bytes_at(uint64_t position, size_t len);

/* All of a few bytes; of more, what their hash is, too. */
std::string shown(const std::string &bytes);

std::string hex(const std::string &bytes);

} // namespace differ

#endif
