/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_LIMIT_H
#define GUEST_LIMIT_H

namespace guest
{

/* The running test may take this long, before it is ended as hanging. 90 by default. */
void set_limit(int seconds);

} // namespace guest

#endif
