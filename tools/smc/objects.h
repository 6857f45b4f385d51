/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel shows of its SMC objects and counters.
 */
#pragma once

#include "schema.h"

Json info();
Json groups();
Json links();
Json devices();
Json stats();

/* {"client-total", "server-total", "reasons"} */
Json fallbacks();
