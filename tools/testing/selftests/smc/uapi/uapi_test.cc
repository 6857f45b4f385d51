// SPDX-License-Identifier: GPL-2.0
/*
 * Our headers for user space against those of the kernel that is installed. Ours may know
 * more; what both know must be the same.
 */
#include <gtest/gtest.h>

#include "values.h"

namespace {

bool ends_with_max(const std::string& name) { return name.ends_with("_MAX"); }

/* The struct that newer kernels append fields to. */
bool grows(const std::string& name) { return name == "smcd_diag_dmbinfo"; }

TEST(Uapi, NothingIsMissing) {
  Values ours = our_values();

  for (const auto& [name, value] : installed_values())
    EXPECT_TRUE(ours.contains(name)) << name << " is " << value;
}

TEST(Uapi, ValuesAndLayoutsAreTheSame) {
  Values ours = our_values();

  for (const auto& [name, value] : installed_values()) {
    if (ends_with_max(name) || grows(name)) continue;
    EXPECT_EQ(ours[name], value) << name;
  }
}

TEST(Uapi, NoEnumIsShorter) {
  Values ours = our_values();

  for (const auto& [name, value] : installed_values()) {
    if (!ends_with_max(name)) continue;
    EXPECT_GE(std::stoll(ours[name]), std::stoll(value)) << name;
  }
}

/* Were the lists of names empty, the others would prove nothing. */
TEST(Uapi, NamesWereFound) {
  for (const Values& values : {our_values(), installed_values()}) {
    EXPECT_EQ(values.at("SMCR_GENL_FAMILY_NAME"), "SMC_PNETID");
    EXPECT_EQ(values.at("SMC_GEN_FBACK_STATS"), "8");
    EXPECT_EQ(values.at("SMC_DIAG_FALLBACK"), "5");
    EXPECT_EQ(values.at("__SMC_PNETID_MAX"), "5");
    EXPECT_GT(values.size(), 250u);
  }
}

}  // namespace
