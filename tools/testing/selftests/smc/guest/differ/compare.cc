// SPDX-License-Identifier: GPL-2.0
#include "compare.h"

#include <algorithm>

namespace differ
{

namespace
{

/* @unknown_only: what is known is stepped over. */
std::optional<Difference> compare(const Steps &steps, const Kinds &kinds, bool unknown_only)
{
	Report tcp = perform(steps, {guest::Kind::tcp, guest::Kind::tcp, kinds.family});
	Report other = perform(steps, kinds);

	/* Both have as many texts: the slots with sockets are the same if all said so far is. */
	for (size_t i = 0; i < std::min(tcp.size(), other.size()); i++) {
		if (tcp[i] == other[i])
			continue;

		const Known *known = find_known({steps, i, tcp[i], other[i], tcp});

		if (!known || !unknown_only)
			return Difference{i, tcp[i], other[i], known};
		if (known->is_lasting)
			break;
	}
	return std::nullopt;
}

} // namespace

std::optional<Difference> first_difference(const Steps &steps, const Kinds &kinds)
{
	return compare(steps, kinds, false);
}

std::optional<Difference> first_unknown(const Steps &steps, const Kinds &kinds)
{
	return compare(steps, kinds, true);
}

} // namespace differ
