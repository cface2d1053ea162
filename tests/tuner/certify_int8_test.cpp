// Kernels that round A to 8-bit integers and multiply them by those of a quantised B, where a
// caller allows that.
#include <gmock/gmock.h>

#include <cstring>
#include <string>

#include "certify_fixture.h"
#include "generator/rules.h"
#include "generator/unit_operands.h"
#include "runtime/verify/certify_run.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class CertifyInt8Test : public CertifyFixture {
 protected:
  static Variant kernel(const std::string& changes = "") {
    return parse_variant(
        "family=vector tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=1 unroll_k=32 vector_width_a=4 "
        "vector_width_b=4 load_path_a=buffer load_path_b=buffer stage=stored " +
        changes);
  }
  static Variant tiled(const std::string& changes = "") {
    return parse_variant(
        "family=tiled tile_m=32 tile_n=64 tile_k=32 reg_m=4 reg_n=4 unroll_k=32 vector_width_a=4 "
        "vector_width_b=1 load_path_a=buffer load_path_b=buffer stage=stored shared_pad=4 " +
        changes);
  }
};

TEST_F(CertifyInt8Test, EveryFormatKeepsTheBoundOfInt8) {
  expect_right({kernel()},
               {"f32xq4_0_int8.nt", "f32xq4_1_int8.nt", "f32xq5_0_int8.nt", "f32xq5_1_int8.nt",
                "f32xq8_0_int8.nt", "f32xq2_k_int8.nt", "f32xq3_k_int8.nt", "f32xq4_k_int8.nt",
                "f32xq5_k_int8.nt", "f32xq6_k_int8.nt", "f32xiq4_nl_int8.nt", "f32xiq4_xs_int8.nt",
                "f32xmxfp4_int8.nt", "f32xnvfp4_int8.nt", "f32xq4b16_int8.nt",
                "f32xq4b32z_f16_int8.nt", "f32xq8b64zf_int8.nt", "f32xq8b128z_int8.nt"},
               1);
}

// One of each kind of scale, zero point and minimum: a tile has integers and scales in its own way.
TEST_F(CertifyInt8Test, TilesOfEveryFormatKeepTheBoundOfInt8) {
  expect_right({tiled()},
               {"f32xq4_0_int8.nt", "f32xq8_0_int8.nt", "f32xq3_k_int8.nt", "f32xq4_k_int8.nt",
                "f32xq6_k_int8.nt", "f32xiq4_xs_int8.nt", "f32xmxfp4_int8.nt", "f32xnvfp4_int8.nt",
                "f32xq4b16_int8.nt", "f32xq4b32z_f16_int8.nt", "f32xq8b64_int8.nt",
                "f32xq8b64zf_int8.nt", "f32xq8b128z_int8.nt"},
               1);
}

TEST_F(CertifyInt8Test, EveryWayKeepsTheBoundOfInt8) {
  expect_right({kernel("unroll_k=64 reg_n=1 prefetch=ahead"),
                kernel("tile_m=3 reg_m=3 reg_n=1 split_k=3 vector_width_b=1"),
                kernel("tile_n=8 reg_n=8 unroll_k=64 load_path_b=texel"),
                kernel("reg_n=2 unroll_k=16 tile_k=32 load_path_a=texel"),
                kernel("tile_m=2 tile_n=16 reg_m=2 reg_n=1 tile_k=512")},
               {"f32xq4_k_int8.nt.bias_column+gelu_erf+residual", "f32xq6_k_int8.nt",
                "f32xq5_1_int8.nt.grouped", "f32xq4b256zf_int8.nt", "f32xq8_0_int8.nt"},
               4);
}

TEST_F(CertifyInt8Test, TilesOfEveryShapeKeepTheBoundOfInt8) {
  expect_right({tiled("tile_k=64 unroll_k=64 prefetch=ahead"),
                tiled("tile_n=32 unroll_k=16 split_k=3 load_path_a=texel raster=column"),
                tiled("tile_k=64 reg_m=8 subgroup_m=32 subgroup_n=16 shared_pad=0"),
                tiled("tile_m=64 reg_n=8 load_path_b=texel raster=grouped4")},
               {"f32xq4_k_int8.nt.bias_column+gelu_erf+residual", "f32xq6_k_int8.nt",
                "f32xq5_1_int8.nt.grouped", "f32xq4b256zf_int8.nt", "f32xq8_0_int8.nt"},
               4);
}

// More than float32 or 16 bits explain, so A is rounded; and less than the bound, half a step each.
TEST_F(CertifyInt8Test, ErrorsAreThoseOfEightBits) {
  const Signature s = parse_signature("f32xq8_0_int8.nt");
  for (const Variant& v : {kernel("vector_width_b=1"), tiled()}) {
    const Kernel kernel(device_, v, s, ShaderCache({}));
    for (const std::int64_t k : {4, 32, 544}) {
      const CertificationCase test = {.problem = packed_problem(7, 100, k, kNo, kYes, 1, s.types)};
      const double ratio = run_case(*device_, kernel, test).worst_ratio;
      std::printf("k = %ld: %.3f of the bound\n", static_cast<long>(k), ratio);
      EXPECT_LT(ratio, 0.9) << k;
      EXPECT_GT(ratio, 0.05) << k;
    }
  }
}

// A kernel that rounds nothing is held to the bound of float32, and one of two parts to half's.
TEST_F(CertifyInt8Test, KernelsOfTheClassKeepTheBoundOfWhatTheyRound) {
  const auto rounding = [&](const std::string& v) {
    return rounding_in(parse_variant(v), parse_types("f32xq4_k_int8"));
  };
  EXPECT_EQ(rounding("family=vector stage=stored"), Rounding::kInt8);
  EXPECT_EQ(rounding("family=vector stage=shared"), Rounding::kNone);
  EXPECT_EQ(rounding("family=matrix stage=stored"), Rounding::kHalf);
  const Variant v = kernel("stage=shared");
  const Signature s = parse_signature("f32xq8_0_int8.nt");
  for (const CertificationCase& test :
       certification_cases(v, s, device_->profile().limits, SumsIn::kC))
    ASSERT_EQ(test.problem.types, unrounded(s.types));
  expect_right({v}, {"f32xq8_0_int8.nt"}, 1);
  EXPECT_FALSE(mutant(v, s, "product(a_at(i, s", "1.002 * product(a_at(i, s").passed);
}

// A row with a number that is not finite becomes not finite; rows beside it are right, and so is a
// row of zeros, of the smallest and of the largest numbers.
TEST_F(CertifyInt8Test, RowsOfExtremeNumbersAreRight) {
  const Signature s = parse_signature("f32xq4_1_int8.nt");
  CertificationCase test = {.problem = packed_problem(9, 20, 200, kNo, kYes, 1, s.types)};
  const CertificationOperands random = certification_operands(test);
  for (const Variant& v : {kernel("tile_m=2 reg_m=2"), tiled()}) {
    const Kernel kernel(device_, v, s, ShaderCache({}));
    for (const std::uint32_t bits :
         {0x7e7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu, 0x7f800001u, 0x00800000u,
          0x80000001u, 0x00000000u, 0x03ffffffu}) {
      CertificationOperands x = random;
      const auto set = [&](std::int64_t row, std::int64_t step) {
        std::memcpy(x.a.data() + 4 * (x.placement.offset_a + row * test.problem.lda + step), &bits,
                    4);
      };
      for (const std::int64_t step : {0, 130, 199}) set(3, step);
      // The largest numbers would overflow in a sum of more of them.
      for (std::int64_t step = 0; bits != 0x7e7fffffu && step < 200; ++step) set(5, step);
      EXPECT_EQ(run_case(*device_, kernel, test, x).wrong, "") << std::hex << bits;
    }
  }
}

// A zero point far below the values' steps, as the quantiser makes for blocks of equal values.
TEST_F(CertifyInt8Test, SmallZeroPointsAreKept) {
  const Signature s = parse_signature("f32xq8b32zf_int8.nt");
  const CertificationCase test = {.problem = packed_problem(3, 20, 64, kNo, kYes, 1, s.types)};
  CertificationOperands x = certification_operands(test);
  std::ranges::fill(x.b, '\0');
  const float zero = 1e-5f;
  for (std::size_t at = 0; at + 4 <= x.zero_points.size(); at += 4)
    std::memcpy(x.zero_points.data() + at, &zero, 4);
  for (const Variant& v : {kernel(), tiled()})
    EXPECT_EQ(run_case(*device_, Kernel(device_, v, s, ShaderCache({})), test, x).wrong, "");
}

TEST_F(CertifyInt8Test, WhatTheRulesForbidIsSaid) {
  const DeviceLimits& limits = device_->profile().limits;
  const auto reason = [&](const Variant& v, const DeviceLimits& d,
                          const char* signature = "f32xq8b16_int8.nt") {
    return illegal_reason(v, d, parse_signature(signature)).value_or("");
  };
  const std::string rounds = "rounds A to 8-bit integers where that is allowed";
  DeviceLimits without = limits;
  without.integer_dot_product = false;
  for (const auto make : {kernel, tiled}) {
    EXPECT_EQ(reason(make(""), limits), "");
    EXPECT_THAT(reason(make("vector_width_a=2"), limits), HasSubstr(rounds));
    EXPECT_THAT(reason(make("unroll_k=8 tile_k=32"), limits), HasSubstr(rounds));
    EXPECT_THAT(reason(make(""), without), HasSubstr(rounds));
    EXPECT_THAT(reason(make(""), limits, "f32xq8b16_int8.tt"), HasSubstr("must not be transposed"));
  }
  EXPECT_THAT(reason(tiled("stages=2"), limits), HasSubstr("stages must be 1"));
  EXPECT_THAT(reason(tiled(), limits, "f32xq8b16.nt"), HasSubstr("may be rounded to 8-bit"));
  EXPECT_THAT(reason(tiled("tile_m=8 tile_n=8"), limits), HasSubstr("by runs of 8"));
}

TEST_F(CertifyInt8Test, MutantsAreRefused) {
  // A workgroup of several subgroups, which a software device runs one after the other up to a
  // barrier.
  constexpr const char* kLarge = "tile_n=16 reg_n=1 tile_k=512";
  const struct {
    const char *from, *to, *signature = "f32xq4_1_int8.nt", *way = "";
  } kMutants[] = {
      {"largest = max(largest, a_largest[scale_index * VECTORS_PER_SCALE + v])",
       "largest = a_largest[scale_index * VECTORS_PER_SCALE + v]"},
      {"floatBitsToUint(abs(x))", "floatBitsToUint(x)"},
      {"scale_index * VECTORS_PER_SCALE + v", "(scale_index | 1) * VECTORS_PER_SCALE + v"},
      {"x * up * inverse", "x * inverse"},
      {"largest_magnitude(a_next[l]);\n  barrier();", "largest_magnitude(a_next[l]);",
       "f32xq4_1_int8.nt", kLarge},
      {"scale_of(largest);\n    }\n  barrier();", "scale_of(largest);\n    }", "f32xq4_1_int8.nt",
       kLarge},
      {"inverse = 127 /", "inverse = 128 /"},  // 128 is no signed byte
      {"(1.0 / 127)", "(1.0 / 126)"},
      {"floatBitsToUint(x * up * inverse + ", "floatBitsToUint(trunc(x * up * inverse) + "},
      {" & 0xffu", ""},
      {"bytes.y << 8", "bytes.x << 8"},
      {"vector % VECTORS_PER_SCALE == 0", "vector % VECTORS_PER_SCALE == 1 && vector > 16"},
      {"uintBitsToFloat(largest | ", "uintBitsToFloat(min(largest, 0x7f7fffffu) | 0 * "},
      {"a_first_word = k0 % TILE_K / 4", "a_first_word = 0", "f32xq4_k_int8.nt"},
      {"a_first_word / VECTORS_PER_SCALE + x", "x", "f32xq4_k_int8.nt", "unroll_k=64"},
      {"(i * LANES_K + lane_k) * A_STRIDE", "lane_k * A_STRIDE", "f32xq4_1_int8.nt",
       "tile_m=2 reg_m=2"},
      {"a_sums[i][x] += product(a_word(i, w), 0x01010101)", "a_sums[i][x] += 0"},
      {"if (4 * w < steps) a_sums", "if (4 * w + 4 < steps) a_sums"},
      {"* float(values) - b_minimum[j][s] * float(sum_a)", "* float(values)"},
      {"SIGNED_ZERO_POINT * sum_a", "(SIGNED_ZERO_POINT - 1) * sum_a", "f32xq5_0_int8.nt"},
      {"word ^ FLIPPED_SIGNS", "word", "f32xq8_0_int8.nt"},
      {"HALVES == 1 ? 0.5 : 1.0);\n}", "1.0);\n}", "f32xmxfp4_int8.nt"},
      {"b_zero_point[j][s] * float(sum_a)", "0", "f32xq4b32zf_int8.nt"},
      {"upper * 16 & 0xffffu", "0 & 0xffffu", "f32xq4b32_int8.nt"},
      {"INTEGER_OFFSET * sum_a", "0 * sum_a", "f32xq8b32z_int8.nt"},
  };
  for (const auto& [from, to, signature, way] : kMutants)
    EXPECT_FALSE(mutant(kernel(way), parse_signature(signature), from, to).passed) << from;
}

// The arithmetic of the rounding itself is that of the vector kernels above.
TEST_F(CertifyInt8Test, MutantsOfTilesAreRefused) {
  constexpr const char* kTwoScales = "tile_k=64";
  const struct {
    const char *from, *to, *signature = "f32xq4_1_int8.nt", *way = "";
  } kMutants[] = {
      {"largest = max(largest, a_largest[v.y", "largest = max(0, a_largest[v.y"},
      {"v.y * A_VECTORS + scale * VECTORS_PER_SCALE + i", "v.y * A_VECTORS + i", "f32xq4_1_int8.nt",
       kTwoScales},
      {"scale_slot[l] = scale * A_STEP", "scale_slot[l] = 0", "f32xq4_1_int8.nt", kTwoScales},
      {"gl_LocalInvocationIndex % VECTORS_PER_SCALE == 0", "gl_LocalInvocationIndex % 8 == 0",
       "f32xq6_k_int8.nt"},
      {"scale = (step + u) / ROUNDED_STEPS", "scale = u / ROUNDED_STEPS", "f32xq4_1_int8.nt",
       kTwoScales},
      {"scales_a[i / 4][i % 4]", "scales_a[i / 4][0]"},
      {" - b_minimums[at] * sum_a", ""},
      {"sums_a[i] += product(a[i / 4][i % 4], 0x01010101)", "sums_a[i] += 0"},
      {": 1.0 / 127);", ": 1.0 / 126);", "f32xq8_0_int8.nt"},
      {"(0.5 / 127) * scale_a", "(1.0 / 127) * scale_a", "f32xmxfp4_int8.nt"},
      {"? 0.5 / 127", "? 1.0 / 127", "f32xnvfp4_int8.nt"},
      {"b_step[l] % ROUNDED_STEPS == 0", "b_step[l] == 0", "f32xq6_k_int8.nt"},
      {"- SIGNED_ZERO_POINT *", "- (SIGNED_ZERO_POINT - 1) *", "f32xq4_0_int8.nt"},
      {"x ^ FLIPPED_SIGNS", "x", "f32xq8_0_int8.nt"},
      {"float(INTEGER_OFFSET) * sum_a", "0.0", "f32xq8b32z_int8.nt"},
      {"- ZERO_POINTS ^", "- 0 ^", "f32xq4b32_int8.nt"},
      {"four_integers(b_next[l], w)", "four_integers(b_next[l], 0)", "f32xq4b32_int8.nt"},
      {"at = step / ROUNDED_STEPS * B_STEP", "at = 0", "f32xq4b32_int8.nt", kTwoScales},
  };
  for (const auto& [from, to, signature, way] : kMutants)
    EXPECT_FALSE(mutant(tiled(way), parse_signature(signature), from, to).passed) << from;
}

// Eight invocations share a scale. Those of lavapipe's subgroups run as one, and hide what is
// missing.
TEST_F(CertifyInt8Test, TilesNeedTheirBarriers) {
  if (device_->profile().limits.subgroup_size >= 8)
    GTEST_SKIP() << "a subgroup holds all that share a scale: SwiftShader shows it";
  const Signature s = parse_signature("f32xq4_1_int8.nt");
  EXPECT_FALSE(mutant(tiled(), s, "share_largest();\n  barrier();", "share_largest();").passed);
  EXPECT_FALSE(mutant(tiled(), s, "    share_largest();\n    barrier();",
                      "    barrier();\n    share_largest();")
                   .passed);
}

}  // namespace
}  // namespace rooftile
