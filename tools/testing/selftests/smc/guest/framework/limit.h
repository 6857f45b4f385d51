/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_LIMIT_H
#define GUEST_LIMIT_H

namespace guest
{

/* Sets the time after which the running test counts as hanging and is killed. The default is 90. */
void set_limit(int seconds);

} // namespace guest

#endif
