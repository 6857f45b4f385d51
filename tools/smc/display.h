/* SPDX-License-Identifier: GPL-2.0 */
/* Output of JSON for humans. */
#pragma once

#include <string>
#include <vector>

#include "schema.h"

struct Column {
  const char* title;
  const char* pointer; /* JSON pointer into an object */
};

/* Prints objects as rows of a table, or nothing if there are none. */
void print_table(const std::vector<Column>& columns, const Json& objects);

/* Prints an object as lines of "name value", with nests indented. */
void print_tree(const Json& object, int indent = 0);
