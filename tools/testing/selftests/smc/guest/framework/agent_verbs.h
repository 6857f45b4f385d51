/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_AGENT_VERBS_H
#define GUEST_AGENT_VERBS_H

#include "rpc.h"

namespace guest
{

/* Performs a request and returns the results for the reply. An exception makes an "error" reply. */
Message perform(const Message &request);

} // namespace guest

#endif
