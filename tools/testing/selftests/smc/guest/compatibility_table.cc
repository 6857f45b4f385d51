// SPDX-License-Identifier: GPL-2.0
#include "compatibility_table.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "system.h"

namespace guest
{

namespace
{

struct Section {
	std::string title;
	std::vector<Row> rows;
};

/* "====" below a title, or the border of a table, which has one such piece for each column. */
bool is_line(const std::string &line, bool with_gaps)
{
	return line.size() > 1 && line.find_first_not_of(with_gaps ? "= " : "=") == line.npos &&
	       (line.find(' ') != line.npos) == with_gaps;
}

std::string trimmed(const std::string &text)
{
	size_t begin = text.find_first_not_of(' ');

	return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Row row_from(const std::string &name, const std::string &claim)
{
	size_t colon = claim.find(": ");
	std::string kind = claim.substr(0, colon);
	std::string error = colon == claim.npos ? "" : claim.substr(colon + 2);

	if (claim == "as TCP")
		return {name, Claim::as_tcp, ""};
	if (claim == "differently")
		return {name, Claim::differently, ""};
	if (kind == "refused" && !error.empty())
		return {name, Claim::refused, error};
	if (kind == "makes it TCP" && !error.empty())
		return {name, Claim::makes_tcp, error};
	throw std::runtime_error(name + " is said to be '" + claim + "'");
}

/* Reads rows up to the border at the end of a table, whose first line was @border. */
std::vector<Row> rows_from(std::istream &text, const std::string &border)
{
	size_t second = border.find(' ');
	size_t begin = border.find('=', second), end = border.find(' ', begin);
	std::vector<Row> rows;
	std::string line;

	/* Skips the head of the table. */
	while (std::getline(text, line) && !is_line(line, true))
		;
	while (std::getline(text, line) && !is_line(line, true)) {
		std::string name = trimmed(line.substr(0, second));

		line.resize(std::max(line.size(), begin), ' ');
		/* A row without a name continues the remark of the row before. */
		if (!name.empty())
			rows.push_back(row_from(name, trimmed(line.substr(begin, end - begin))));
	}
	return rows;
}

std::vector<Section> read_sections()
{
	const char *repository = getenv("LAB_REPO");

	if (!repository)
		throw std::runtime_error("LAB_REPO is not set: run it in the lab");

	std::istringstream text(
	    read_file(std::string(repository) + "/Documentation/compatibility.rst"));
	std::vector<Section> sections;
	std::string line, before, title;

	for (; std::getline(text, line); before = line) {
		if (is_line(line, false))
			title = before;
		else if (is_line(line, true))
			sections.push_back({title, rows_from(text, line)});
	}
	return sections;
}

} // namespace

std::vector<Row> compatibility_rows(const std::string &section)
{
	for (const Section &each : read_sections())
		if (each.title == section && !each.rows.empty())
			return each.rows;
	throw std::runtime_error("no table of " + section);
}

std::vector<std::string> compatibility_sections()
{
	std::vector<std::string> titles;

	for (const Section &each : read_sections())
		titles.push_back(each.title);
	return titles;
}

} // namespace guest
