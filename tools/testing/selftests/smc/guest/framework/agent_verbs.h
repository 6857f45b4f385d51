/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_AGENT_VERBS_H
#define GUEST_AGENT_VERBS_H

#include "rpc.h"

namespace guest
{

/* The results for the reply; an exception is an "error" reply. */
Message perform(const Message &request);

} // namespace guest

#endif
