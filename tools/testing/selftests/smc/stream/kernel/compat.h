/* SPDX-License-Identifier: GPL-2.0 */
/* In place of net/smc/compat.h: there is but one kernel here. */
#include "kernel.h"
