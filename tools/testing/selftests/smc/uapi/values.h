/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The values of a pair of headers, as text by name: "SMC_MAX_UEID" is "4", and
 * "smc_diag_msg.id" is "4+48", offset and size.
 */
#pragma once

#include <map>
#include <string>

using Values = std::map<std::string, std::string>;

Values our_values();
Values installed_values();
