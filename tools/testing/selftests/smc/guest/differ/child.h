/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of a process that has all sockets of this one, by fork(), and then ends. */
#ifndef DIFFER_CHILD_H
#define DIFFER_CHILD_H

#include <cstddef>
#include <functional>

namespace differ
{

/* Memory that children write to. */
struct SharedBytes {
	explicit SharedBytes(size_t len);
	SharedBytes(const SharedBytes &) = delete;
	~SharedBytes();

	const size_t size;
	char *data;
};

/* Return: what the call has in a child, with its errno. */
long in_child(const std::function<long()> &call);

/* Calls @act in this process while a child has all sockets, too. The child ends afterwards. */
void after_fork(const std::function<void()> &act);

} // namespace differ

#endif
