/* SPDX-License-Identifier: GPL-2.0 */
/* AF_SMC sockets, from sock_diag. */
#pragma once

#include "schema.h"

/* Returns one object for each socket of this network namespace. */
Json dump_sockets();
