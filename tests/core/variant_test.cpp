#include "core/variant.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "../support/random_variant.h"
#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

RC_GTEST_PROP(Variant, RoundTripsAsText, ()) {
  const Variant v = *any_variant();
  RC_ASSERT(parse_variant(to_string(v)) == v);
}

RC_GTEST_PROP(Variant, ParsesItsParametersInAnyOrder, ()) {
  const Variant v = *any_variant();
  auto all = parameters(v);
  std::reverse(all.begin(), all.end());
  Variant other;
  for (const auto& [parameter, value] : all) set_parameter(other, parameter, value);
  RC_ASSERT(other == v);
}

TEST(Variant, YoungerParametersAreLeftOutOfItsTextAtTheirDefaults) {
  // Texts and hashes that older versions stored stay those of the kernels.
  const std::string text = to_string(Variant());
  EXPECT_TRUE(text.ends_with("subgroup_size=0 optimization=zero")) << text;
  EXPECT_EQ(to_string(parse_variant("prefetch=none store_map=plain")), text);
  EXPECT_EQ(to_string(parse_variant("prefetch=ahead")), text + " prefetch=ahead");
}

TEST(Variant, EveryParameterChangesIt) {
  // The text contains every parameter: two kernels with one name would share their results.
  for (const std::string& parameter : parameter_names()) {
    Variant v;
    const auto before = parameters(v);
    bool changed = false;
    for (const char* value : {"3", "tiled", "texel", "shared", "column", "yes", "exact", "atomic",
                              "performance", "workgroup", "ahead", "permuted"}) {
      try {
        set_parameter(v, parameter, value);
        changed = true;
      } catch (const Error&) {
        continue;
      }
    }
    EXPECT_TRUE(changed) << parameter;
    EXPECT_NE(parameters(v), before) << parameter;
    EXPECT_NE(v, Variant()) << parameter;
  }
}

TEST(Variant, ParametersComeInOneOrderWithNamesOfTheirOwn) {
  const std::vector<std::string> names = parameter_names();
  const auto pairs = parameters(Variant());
  ASSERT_EQ(pairs.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(pairs[i].first, names[i]);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names.front(), "family");
}

TEST(Variant, WhatIsLeftOutKeepsItsDefault) {
  EXPECT_EQ(parse_variant("tile_m=64  family=tiled "),
            (Variant{.family = Family::kTiled, .tile_m = 64}));
  EXPECT_EQ(parse_variant(""), Variant());
  EXPECT_EQ(parse_variant("   "), Variant());
}

TEST(Variant, UnknownNamesAndValuesListWhatIsKnown) {
  Variant v;
  EXPECT_THAT(message_of([&] { set_parameter(v, "tile_q", "3"); }, ErrorCode::kInvalidArgument),
              testing::AllOf(testing::HasSubstr("tile_q"), testing::HasSubstr("tile_m")));
  EXPECT_THAT(message_of([&] { set_parameter(v, "family", "tilde"); }, ErrorCode::kInvalidArgument),
              testing::AllOf(testing::HasSubstr("tilde"), testing::HasSubstr("tiled")));
  EXPECT_THAT(message_of([] { parse_variant("tile_m"); }, ErrorCode::kInvalidArgument),
              testing::HasSubstr("tile_m"));
  EXPECT_EQ(v, Variant());
}

TEST(Variant, NumbersAreWholeAndBounded) {
  Variant v;
  for (const char* value : {"", "-1", "65537", "1.5", "0x10", "12 ", "99999999999999999999"})
    EXPECT_THAT(message_of([&] { set_parameter(v, "tile_m", value); }, ErrorCode::kInvalidArgument),
                testing::HasSubstr("tile_m"))
        << value;
  EXPECT_EQ(v, Variant());
  set_parameter(v, "tile_m", "65536");
  EXPECT_EQ(v.tile_m, 65536);
}

TEST(Variant, ShortNamesContainTheMainParameters) {
  const Variant v{.family = Family::kTiled,
                  .tile_m = 64,
                  .tile_n = 128,
                  .tile_k = 16,
                  .reg_m = 4,
                  .reg_n = 8,
                  .vector_width_a = 4,
                  .vector_width_b = 4};
  EXPECT_THAT(short_name(v), testing::StartsWith("tiled 64x128x16 4x8"));
  EXPECT_NE(short_name(v), short_name(parse_variant(to_string(v) + " packed_b=yes")));
  EXPECT_NE(short_name(v), short_name(parse_variant(to_string(v) + " load_path_b=texel")));
}

TEST(Variant, LocalSizeIsBlocksOverRegisters) {
  EXPECT_EQ(local_size({.tile_m = 64, .tile_n = 128, .reg_m = 4, .reg_n = 8}), 16 * 16);
}

}  // namespace
}  // namespace rooftile
