/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shows and changes the administrator's settings: EIDs, the PNET table, and the
 * limit of handshakes. Shows and flushes the blackhole entries.
 */
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "schema.h"

/* The arguments of the command line are invalid. */
struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

Json eid_show();
void eid_add(const std::string& eid);
void eid_del(const std::string& eid);
void eid_flush();

Json seid_show();
void seid_set(bool enabled);

Json pnet_show();
/* Adds an entry. @words are "dev NAME", "ib NAME" and "port NUMBER" in any order. */
void pnet_add(const std::string& pnetid, const std::vector<std::string>& words);
void pnet_del(const std::string& pnetid);
void pnet_flush();

Json limit_show();
void limit_set(bool enabled);

Json blackhole_show();
void blackhole_flush();
