/* SPDX-License-Identifier: GPL-2.0 */
/* TCP's state of one connection, by sock_diag. */
#ifndef DIFFER_TCP_DIAG_H
#define DIFFER_TCP_DIAG_H

#include "socket.h"

namespace differ
{

/* The state of the end with these addresses on @side, of <netinet/tcp.h>; 0 if there is none. */
int diag_state(int side, const guest::Address &local, const guest::Address &remote);

} // namespace differ

#endif
