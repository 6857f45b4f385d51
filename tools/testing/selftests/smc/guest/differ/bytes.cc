// SPDX-License-Identifier: GPL-2.0
#include "bytes.h"

#include <functional>

namespace differ
{

static char byte_at(uint64_t position)
{
	static const char digits[] =
	    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY";

	return digits[position % (sizeof(digits) - 1)];
}

std::string bytes_at(uint64_t position, size_t len)
{
	std::string bytes(len, '\0');

	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(position + i);
	return bytes;
}

std::string shown(const std::string &bytes)
{
	if (bytes.size() <= 24)
		return "'" + bytes + "'";
	return "'" + bytes.substr(0, 24) + "...' " +
	       std::to_string(std::hash<std::string>()(bytes));
}

std::string hex(const std::string &bytes)
{
	static const char digits[] = "0123456789abcdef";
	std::string text;

	for (unsigned char byte : bytes)
		(text += digits[byte >> 4]) += digits[byte & 15];
	return text;
}

} // namespace differ
