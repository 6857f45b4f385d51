// SPDX-License-Identifier: GPL-2.0
// Properties of messages of all kinds: round trips, truncation, corruption.
#include <gtest/gtest.h>

#include "capture.h"
#include "describe.h"
#include "edit.h"
#include "samples.h"

namespace wire {
namespace {

template <typename T>
constexpr bool kIsClc = !std::is_same_v<T, smc_cdc> && !std::is_same_v<T, Llc>;

// Captured messages of the kind, then samples.
template <typename T>
std::vector<Bytes> WellFormed() {
  Capture capture = ReadAllCaptures();
  std::vector<Bytes> all;
  for (const auto* list : {&capture.clc, &capture.cdc, &capture.llc})
    for (const Bytes& bytes : *list)
      if (Parse<T>(bytes).error == 0) all.push_back(bytes);
  Random random(1);
  for (const T& sample : Samples<T>(random)) all.push_back(Build(sample));
  return all;
}

// A message that a parser accepts means the same after encoding it, however odd its bytes were.
template <typename T>
void ExpectRejectedOrStable(const Bytes& bytes) {
  auto parsed = Parse<T>(bytes);
  if (parsed.error) {
    EXPECT_TRUE(parsed.error == -EPROTO || parsed.error == -EOPNOTSUPP) << Hex(bytes);
    return;
  }
  if (!IsBuildable(parsed.value)) return;
  Bytes built = Build(parsed.value);
  // To parse the same bytes again would tell nothing. Describing two values takes longest here.
  if (built == bytes) return;
  auto again = Parse<T>(built);
  EXPECT_EQ(again.error, 0) << Hex(bytes);
  EXPECT_EQ(Describe(again.value), Describe(parsed.value)) << Hex(bytes);
}

template <typename T>
class EveryMessage : public testing::Test {};
using Kinds = testing::Types<smc_clc_proposal, smc_clc_agreement, smc_clc_decline, smc_cdc, Llc>;
TYPED_TEST_SUITE(EveryMessage, Kinds);

TYPED_TEST(EveryMessage, SurvivesTheRoundTrip) {
  Random random(2);
  for (int round = 0; round < 300; round++)
    for (const TypeParam& sample : Samples<TypeParam>(random)) {
      Bytes bytes = Build(sample);
      auto parsed = Parse<TypeParam>(bytes);
      ASSERT_EQ(parsed.error, 0) << Describe(sample);
      ASSERT_EQ(Describe(parsed.value), Describe(sample));
      ASSERT_EQ(Hex(Build(parsed.value)), Hex(bytes));
    }
}

TYPED_TEST(EveryMessage, OwesNothingToTheBufferBefore) {
  Random random(3);
  for (const TypeParam& sample : Samples<TypeParam>(random))
    EXPECT_EQ(Hex(Build(sample, 0x00)), Hex(Build(sample, 0xff)));
}

TYPED_TEST(EveryMessage, IsRejectedWhenTruncated) {
  for (const Bytes& bytes : WellFormed<TypeParam>())
    for (size_t length = 0; length < bytes.size(); length++) {
      auto parsed = Parse<TypeParam>(std::span(bytes).first(length));
      ASSERT_EQ(parsed.error, -EPROTO) << length << " bytes of " << Hex(bytes);
    }
}

TYPED_TEST(EveryMessage, IsRejectedOrStableWhenShorterThanItsLists) {
  if constexpr (kIsClc<TypeParam>)
    for (const Bytes& bytes : WellFormed<TypeParam>())
      for (size_t less = 1; less <= bytes.size() - SMC_CLC_HEADER_LEN - kTrailerLen; less++)
        ExpectRejectedOrStable<TypeParam>(Shortened(bytes, less));
}

TYPED_TEST(EveryMessage, IsRejectedOrStableWhenOneByteIsWrong) {
  for (const Bytes& bytes : WellFormed<TypeParam>())
    for (size_t at = 0; at < bytes.size(); at++)
      for (int bit = 0; bit <= 8; bit++) {
        u8 wrong = static_cast<u8>(bit < 8 ? bytes[at] ^ 1 << bit : ~bytes[at]);
        ExpectRejectedOrStable<TypeParam>(With8(bytes, at, wrong));
      }
}

TYPED_TEST(EveryMessage, IsRejectedWhenItsFrameIsWrong) {
  if constexpr (kIsClc<TypeParam>)
    for (const Bytes& bytes : WellFormed<TypeParam>())
      for (size_t at : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{6},
                        bytes.size() - 4, bytes.size() - 3, bytes.size() - 2, bytes.size() - 1})
        for (int bit = 0; bit < 8; bit++)
          ASSERT_EQ(Parse<TypeParam>(With8(bytes, at, bytes[at] ^ 1 << bit)).error, -EPROTO)
              << "bit " << bit << " of byte " << at << " of " << Hex(bytes);
}

TYPED_TEST(EveryMessage, IsRejectedWhenItIsAnother) {
  for (const Bytes& bytes : WellFormed<TypeParam>()) {
    if constexpr (!std::is_same_v<TypeParam, smc_clc_proposal>)
      EXPECT_EQ(Parse<smc_clc_proposal>(bytes).error, -EPROTO);
    if constexpr (!std::is_same_v<TypeParam, smc_clc_agreement>)
      EXPECT_EQ(Parse<smc_clc_agreement>(bytes).error, -EPROTO);
    if constexpr (!std::is_same_v<TypeParam, smc_clc_decline>)
      EXPECT_EQ(Parse<smc_clc_decline>(bytes).error, -EPROTO);
    if constexpr (!std::is_same_v<TypeParam, smc_cdc>)
      EXPECT_EQ(Parse<smc_cdc>(bytes).error, -EPROTO);
  }
}

}  // namespace
}  // namespace wire
