/* SPDX-License-Identifier: GPL-2.0 */
/* The tables of Documentation/compatibility.rst. */
#ifndef GUEST_COMPATIBILITY_TABLE_H
#define GUEST_COMPATIBILITY_TABLE_H

#include <string>
#include <vector>

namespace guest
{

/* The claim of a row about the behaviour over SMC. */
enum class Claim { as_tcp, differently, refused, makes_tcp };

struct Row {
	std::string name;
	Claim claim;
	std::string error; /* of what is refused: the name of an errno, else empty */
};

/* The rows of a section, which it must have; throws if one claims what is not to be understood. */
std::vector<Row> compatibility_rows(const std::string &section);

/* All sections with a table, in their order. */
std::vector<std::string> compatibility_sections();

} // namespace guest

#endif
