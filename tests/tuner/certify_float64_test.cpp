// Kernels for float64 operands are right in every family within float64's own bound, which single
// precision anywhere on the way exceeds by far.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "certify_fixture.h"
#include "generator/rules.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

class CertifyFloat64Test : public CertifyFixture {
 protected:
  void SetUp() override {
    CertifyFixture::SetUp();
    if (!device_->profile().limits.float64_arithmetic)
      GTEST_SKIP() << device_->profile().name << " has no float64 arithmetic";
  }
  /// Kernels of every family, vector width, stage and packing.
  std::vector<Variant> variants() const {
    std::vector<Variant> all;
    for (const char* text :
         {"family=naive tile_m=8 tile_n=8",
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
          "vector_width_b=4 load_path_a=texel load_path_b=texel",
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
          "vector_width_b=4 load_path_a=texel load_path_b=texel packed_a=yes packed_b=yes",
          "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
          "vector_width_a=4 vector_width_b=4 load_path_a=texel load_path_b=texel",
          "family=register tile_m=4 tile_n=12 reg_m=2 reg_n=3 unroll_k=4 split_k=2",
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
          "vector_width_b=4",
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
          "vector_width_b=4 packed_a=yes packed_b=yes",
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
          "vector_width_b=4 packed_b=yes split_k=3",
          "family=batched_small tile_m=4 tile_n=6 reg_m=2 reg_n=3 unroll_k=4 tile_batch=2",
          "family=vector tile_m=1 tile_n=8 tile_k=16 reg_m=1 reg_n=4 unroll_k=4 stage=shared "
          "vector_width_a=4 vector_width_b=4",
          "family=vector tile_m=2 tile_n=8 tile_k=32 reg_m=2 reg_n=4 unroll_k=4 stage=stored "
          "vector_width_a=4 vector_width_b=4",
          "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
          "vector_width_a=4 vector_width_b=4",
          "family=tiled tile_m=16 tile_n=32 tile_k=8 reg_m=4 reg_n=8 unroll_k=2 stage=shared "
          "vector_width_a=2 vector_width_b=2 stages=2 shared_pad=4 split_k=2",
          "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
          "vector_width_a=1 vector_width_b=4 prefetch=ahead edge=exact"})
      all.push_back(parse_variant(text));
    const std::uint32_t lanes = device_->profile().limits.subgroup_size;
    all.push_back(parse_variant(
        fmt::format("family=broadcast tile_m=4 tile_n={} reg_m=4 reg_n=4 unroll_k=8 "
                    "vector_width_a=4 vector_width_b=4 packed_a=yes raster=column subgroup_size={}",
                    4 * lanes, lanes)));
    return all;
  }
};

/// A value with the bits that float32 has. Compilers may leave out a conversion to float32 and
/// back.
std::string single(const std::string& value) {
  return fmt::format("packDouble2x32(unpackDouble2x32({}) & uvec2(0xe0000000u, 0xffffffffu))",
                     value);
}

const char* const kFallback = "family=naive tile_m=8 tile_n=8";

TEST_F(CertifyFloat64Test, EveryFamilyIsRightInEveryTranspose) {
  for (const Variant& v : variants())
    EXPECT_EQ(illegal_reason(v, device_->profile().limits, {.types = parse_types("f64")}),
              std::nullopt)
        << to_string(v);
  expect_right(variants(), {"f64.nn", "f64.nt", "f64.tn", "f64.tt"}, 1);
}

/// Every step, with each activation, in kernels of every family, of one, two and four sums a store,
/// and in the kernel that adds the parts of a split product.
TEST_F(CertifyFloat64Test, EpiloguesAreRight) {
  const std::vector<std::string> epilogues = {
      "row_scale+column_scale+bias_row+gelu_erf+residual+clamp", "bias_column+gelu_tanh",
      "column_scale+silu+residual", "bias_row+relu+clamp"};
  std::size_t turn = 0;
  for (const Variant& v : variants()) {
    const Signature s = {.types = parse_types("f64"),
                         .epilogue = parse_epilogue(epilogues[turn++ % epilogues.size()])};
    const Certificate result = certificate(v, s);
    EXPECT_TRUE(result.passed) << to_string(v) << " " << to_string(s) << ": " << result.detail;
  }
}

TEST_F(CertifyFloat64Test, GroupsAreRight) {
  for (const char* text :
       {kFallback,
        "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
        "vector_width_a=4 vector_width_b=4",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 packed_a=yes packed_b=yes"})
    for (const Transpose trans_b : {kNo, kYes}) {
      const char* const epilogue =
          trans_b == kNo ? "" : "row_scale+column_scale+bias_column+silu+residual+clamp";
      const Certificate result =
          certificate(parse_variant(text), {.types = parse_types("f64"),
                                            .trans_b = trans_b,
                                            .epilogue = parse_epilogue(epilogue),
                                            .grouped = true});
      EXPECT_TRUE(result.passed) << text << ": " << result.detail;
    }
}

// The standard lets a driver compute some operations on float64 in single precision.
TEST_F(CertifyFloat64Test, MutantsInSinglePrecisionAreRefused) {
  const Signature float64 = {.types = parse_types("f64")};
  const Variant fallback = parse_variant(kFallback);
  const std::pair<const char*, const char*> kMutants[] = {
      {"{ return x * y; }", "x * y"},
      {"VECTOR_A(a[vector_index])", "a[vector_index]"},
      {"alpha * sum + old", "alpha"},
      {"RESULT(beta) * load_c(c_index)", "load_c(c_index)"},
      {"c[i] = x;", "x"}};
  for (const auto& [from, value] : kMutants) {
    std::string to = from;
    to.replace(to.find(value), std::string(value).size(), single(value));
    EXPECT_FALSE(mutant(fallback, float64, from, to).passed) << to;
  }
}

TEST_F(CertifyFloat64Test, MutantsOfEpiloguesAreRefused) {
  const std::pair<const char*, const char*> kVectors[] = {
      {"y *= vectors[offset_row_scale + row]", "vectors[offset_row_scale + row]"},
      {"y += vectors[offset_bias + row]", "vectors[offset_bias + row]"},
      {"y += residual[offset_residual + row * ld_residual + column]",
       "residual[offset_residual + row * ld_residual + column]"},
      {"clamp_low = packDouble2x32(uvec2(clamp_words[0], clamp_words[1]))",
       "packDouble2x32(uvec2(clamp_words[0], clamp_words[1]))"}};
  const auto passes = [&](const char* epilogue, const std::string& from, const std::string& to) {
    return mutant(parse_variant(kFallback),
                  {.types = parse_types("f64"), .epilogue = parse_epilogue(epilogue)}, from, to)
        .passed;
  };
  for (const auto& [from, value] : kVectors) {
    std::string to = from;
    to.replace(to.find(value), std::string(value).size(), single(value));
    EXPECT_FALSE(passes("row_scale+bias_row+residual+clamp", from, to)) << to;
  }
  for (const char* epilogue : {"gelu_erf", "gelu_tanh", "silu"}) {
    EXPECT_FALSE(passes(epilogue, "0.041666666666666664LF", "0.0416666LF")) << epilogue;
    EXPECT_FALSE(passes(epilogue, "-1.9082149292705877e-10LF", "0.0LF")) << epilogue;
  }
  EXPECT_FALSE(passes("gelu_erf", "1.1283791670955126LF", "1.1283791LF"));
  EXPECT_FALSE(passes("gelu_erf", "-1.1283739915107647LF", "-1.1283739LF"));
}

TEST_F(CertifyFloat64Test, MutantsOfPackingAndReductionAreRefused) {
  const Signature float64 = {.types = parse_types("f64")};
  const Variant packed = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 packed_a=yes "
      "split_k=2");
  EXPECT_FALSE(mutant(packed, float64, emit_pack(packed, float64, Operand::kA),
                      "return stored[address];",
                      fmt::format("return {};", single("stored[address]")))
                   .passed);
  EXPECT_FALSE(mutant(packed, float64, emit_reduce(float64), "sum += partial_sums",
                      "sum += 0.9999999 * partial_sums")
                   .passed);
}

TEST_F(CertifyFloat64Test, KernelsThatCannotReadItAreRefusedWithTheReason) {
  const DeviceLimits& limits = device_->profile().limits;
  const Signature float64 = {.types = parse_types("f64")};
  const auto reason = [&](const char* text, const DeviceLimits& of, Signature s) {
    return illegal_reason(parse_variant(text), of, s).value_or("legal");
  };
  const char* const kTexel =
      "family=vector tile_m=3 tile_n=8 tile_k=16 reg_m=3 reg_n=4 unroll_k=4 "
      "stage=shared vector_width_a=4 load_path_a=texel";
  Signature across = float64;
  across.trans_a = kYes;
  EXPECT_EQ(reason(kTexel, limits, float64), "legal");
  EXPECT_THAT(reason(kTexel, limits, across), ::testing::HasSubstr("a texel holds two float64"));
  DeviceLimits without = limits;
  without.float64_arithmetic = false;
  EXPECT_THAT(reason(kFallback, without, float64),
              ::testing::HasSubstr("the device has no float64 arithmetic"));
}

}  // namespace
}  // namespace rooftile
