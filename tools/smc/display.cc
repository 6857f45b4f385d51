// SPDX-License-Identifier: GPL-2.0
#include "display.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace {

std::string text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.dump();
}

std::string cell(const Json& object, const Column& column) {
  Json::json_pointer pointer(column.pointer);
  if (!object.contains(pointer)) return "-";
  std::string s = text(object[pointer]);
  return s.empty() ? "-" : s;
}

}  // namespace

void print_table(const std::vector<Column>& columns, const Json& objects) {
  if (objects.empty()) return;

  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows[0].emplace_back(column.title);
  for (const Json& object : objects) {
    auto& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(cell(object, column));
  }

  std::vector<size_t> widths(columns.size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); i++)
      std::cout << std::left << std::setw(static_cast<int>(widths[i]) + 2) << row[i];
    std::cout << row.back() << '\n';
  }
}

void print_tree(const Json& object, int indent) {
  for (const auto& [name, value] : object.items()) {
    std::cout << std::string(indent, ' ') << name;
    if (value.is_object()) {
      std::cout << '\n';
      print_tree(value, indent + 2);
    } else {
      std::cout << ' ' << text(value) << '\n';
    }
  }
}
