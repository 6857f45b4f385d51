/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON for people.
 */
#pragma once

#include <string>
#include <vector>

#include "schema.h"

struct Column {
  const char* title;
  const char* pointer; /* into an object: JSON pointer */
};

/* Objects as rows; nothing at all if there are none. */
void print_table(const std::vector<Column>& columns, const Json& objects);

/* An object as lines of "name value", nests indented. */
void print_tree(const Json& object, int indent = 0);
