/* SPDX-License-Identifier: GPL-2.0 */
/* SMC objects and counters of the kernel. */
#pragma once

#include "schema.h"

Json info();
Json groups();
Json links();
Json devices();
Json stats();

/* Returns an object with "client-total", "server-total" and "reasons". */
Json fallbacks();
