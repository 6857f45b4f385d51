// SPDX-License-Identifier: GPL-2.0
#include "shrink.h"

#include <algorithm>

namespace differ
{

namespace
{

using Differs = std::function<bool(const Steps &)>;

/* Leaves out pieces of @len steps. Return: whether it could. */
bool drop_pieces(Steps &steps, size_t len, const Differs &differs)
{
	bool dropped = false;

	for (size_t at = 0; at < steps.size();) {
		Steps fewer = steps;

		fewer.erase(fewer.begin() + at, fewer.begin() + std::min(at + len, fewer.size()));
		if (differs(fewer)) {
			steps = std::move(fewer);
			dropped = true;
		} else {
			at += len;
		}
	}
	return dropped;
}

bool drop_steps(Steps &steps, const Differs &differs)
{
	bool dropped = false;

	for (size_t len = std::max<size_t>(steps.size() / 2, 1); len; len /= 2)
		dropped |= drop_pieces(steps, len, differs);
	return dropped;
}

bool has_flags(const Step &step)
{
	switch (step.op) {
	case Op::send:
	case Op::recv:
	case Op::fork_send:
	case Op::fork_recv:
	case Op::splice_in:
	case Op::splice_out:
	case Op::accept:
		return true;
	default:
		return false;
	}
}

bool has_length(const Step &step)
{
	switch (step.op) {
	case Op::send:
	case Op::recv:
	case Op::sendfile:
	case Op::fork_send:
	case Op::fork_recv:
	case Op::splice_in:
	case Op::splice_out:
		return true;
	default:
		return false;
	}
}

/* One number of one step becomes @value, if the difference stays. */
bool replace(Steps &steps, int &number, int value, const Differs &differs)
{
	int before = number;

	if (before == value)
		return false;
	number = value;
	if (differs(steps))
		return true;
	number = before;
	return false;
}

void make_simple(Steps &steps, Step &step, const Differs &differs)
{
	if (has_length(step) && step.a > 1) {
		if (!replace(steps, step.a, 1, differs))
			for (int less : {2, 3, 10, 100, 1000})
				if (less < step.a && replace(steps, step.a, less, differs))
					break;
	}
	if (step.op == Op::send || step.op == Op::recv)
		replace(steps, step.c, by_call, differs);
	if (has_flags(step))
		for (int bit = 1; bit && bit <= step.b; bit <<= 1)
			if (step.b & bit)
				replace(steps, step.b, step.b & ~bit, differs);
}

} // namespace

Steps shrink(Steps steps, const Differs &differs)
{
	while (drop_steps(steps, differs))
		;
	for (Step &step : steps)
		make_simple(steps, step, differs);
	return steps;
}

} // namespace differ
