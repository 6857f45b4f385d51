/* SPDX-License-Identifier: GPL-2.0 */
/* Events of the kernel, from its tracer. */
#ifndef GUEST_KERNEL_TRACE_H
#define GUEST_KERNEL_TRACE_H

#include <string>
#include <vector>

namespace guest
{

/* Traces an event for as long as it lives. */
class KernelTrace
{
public:
	/* Whether this kernel traces events. */
	static bool possible();

	/* @event: "SYSTEM/NAME" */
	explicit KernelTrace(const std::string &event);
	KernelTrace(const KernelTrace &) = delete;
	~KernelTrace();

	/* The lines so far that have @words, as whole words. */
	std::vector<std::string> lines(const std::string &words) const;

private:
	const std::string enable;
};

} // namespace guest

#endif
