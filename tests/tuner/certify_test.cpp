// Right kernels pass certification; the same kernels with one injected error are rejected.
#include <fmt/format.h>

#include "certify_fixture.h"
#include "generator/compiler_work.h"
#include "generator/space.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/swiftshader.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

using CertifyTest = CertifyFixture;

TEST_F(CertifyTest, DefaultAndFallbackPassForEveryTranspose) {
  for (const Variant& variant : {fast_kernel(device_->profile()), fallback_variant()}) {
    for (Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
      for (Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
        const Certificate result =
            certificate(variant, {.trans_a = trans_a, .trans_b = trans_b}, ShaderCache({}));
        EXPECT_TRUE(result.passed) << short_name(variant) << ": " << result.detail;
        EXPECT_GE(result.cases, 20u);
        EXPECT_LE(result.worst_ratio, 1.0);
      }
    }
  }
}

TEST_F(CertifyTest, MutantsOfTheFallbackAreRefused) {
  const Signature plain = {};
  const struct {
    const char* what;
    const char* from;
    const char* to;
  } kMutants[] = {
      {"row check off by one", "row >= m", "row > m"},
      {"column check off by one", "column >= n", "column > n"},
      {"swapped stride of A", "offset_a + i * lda + p", "offset_a + i + p * lda"},
      {"swapped stride of B", "offset_b + p * ldb + j", "offset_b + p + j * ldb"},
      {"wrong stride of A", "i * lda", "i * k"},
      {"wrong stride of C", "row * ldc", "row * n"},
      {"last step missing", "p < k", "p + 1 < k"},
      {"first step missing", "uint p = 0; p < k", "uint p = 1; p < k"},
      {"alpha forgotten", "alpha * sum + old", "sum + old"},
      {"beta read at 0", "beta != 0.0", "beta != 2.0"},
      {"beta forgotten", "RESULT(beta) * load_c", "load_c"},
      {"stride of the batch forgotten", "base_c + z * stride_c", "base_c + z * 0"},
      {"shared B not shared", "batch_index * stride_b", "batch_index * stride_a"},
      {"offset of C forgotten", "offset_c + row", "row"},
  };
  for (const auto& [what, from, to] : kMutants)
    EXPECT_FALSE(mutant(fallback_variant(), plain, from, to).passed) << what;
}

// One kernel per family, and a split-K kernel, whose epilogue runs in the reduction. Drivers
// compile most of the time, so each is as small as its family's code allows; other tests have
// vector kernels of several rows, and the device's default kernel.
std::vector<Variant> fusing_variants(const DeviceProfile& device) {
  const std::uint32_t lanes = device.limits.subgroup_size;
  return {fallback_variant(),
          parse_variant("family=register tile_m=4 tile_n=12 reg_m=2 reg_n=3 unroll_k=4 split_k=2"),
          parse_variant("family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 "
                        "stage=shared vector_width_a=4 vector_width_b=4"),
          parse_variant("family=vector tile_m=1 tile_n=8 tile_k=16 reg_m=1 reg_n=4 unroll_k=4 "
                        "stage=shared vector_width_a=4 vector_width_b=4"),
          parse_variant("family=batched_small tile_m=4 tile_n=6 reg_m=2 reg_n=3 unroll_k=4 "
                        "tile_batch=2"),
          parse_variant(fmt::format(
              "family=broadcast tile_m=4 tile_n={} reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
              "vector_width_b=4 load_path_a=texel load_path_b=texel packed_a=yes packed_b=yes "
              "raster=column subgroup_size={}",
              4 * lanes, lanes))};
}

TEST_F(CertifyTest, EveryEpilogueIsFusedInEveryFamily) {
  // Every part of an epilogue.
  const std::vector<const char*> epilogues = {
      "row_scale", "column_scale+bias_row+relu", "bias_column+gelu_erf", "gelu_tanh+clamp",
      "row_scale+column_scale+bias_column+silu+residual+clamp"};
  const std::vector<Variant> variants = fusing_variants(device_->profile());
  for (std::size_t v = 0; v < variants.size(); ++v)
    for (std::size_t e = 0; e < epilogues.size(); ++e) {
      // Every family meets the last one, which has a part of each kind.
      if (e % one_in() != v % one_in() && e + 1 < epilogues.size()) continue;
      const Certificate result = certificate(
          variants[v], {.trans_b = Transpose::kYes, .epilogue = parse_epilogue(epilogues[e])},
          ShaderCache({}));
      EXPECT_TRUE(result.passed) << short_name(variants[v]) << " " << epilogues[e] << ": "
                                 << result.detail;
    }
}

// All loads of 16-bit operands: words and texels of every width, packed operands.
TEST_F(CertifyTest, SixteenBitOperandsAreRightInEveryFamily) {
  std::vector<Variant> variants = fusing_variants(device_->profile());
  variants.push_back(parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
      "vector_width_b=4 load_path_b=texel"));
  variants.push_back(parse_variant(
      "family=register tile_m=4 tile_n=12 reg_m=2 reg_n=3 unroll_k=4 load_path_a=texel"));
  variants.push_back(parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes"));
  // Each operand in both types and both orders.
  expect_right(variants, {"f16.nn", "bf16.nt", "f16.tt", "bf16.tn"}, 1);
}

TEST_F(CertifyTest, EveryTypeOfCIsRightInEveryFamily) {
  // Halves of both types with B in both orders, which decide how wide stores to C are.
  expect_right(fusing_variants(device_->profile()),
               {"f32_f16.nn", "f32_bf16.tt", "f16_f16.nt", "bf16_bf16.tn"}, 1);
}

TEST_F(CertifyTest, IntegersAreExactInEveryFamily) {
  std::vector<Variant> variants = fusing_variants(device_->profile());
  for (const char* text :
       {"family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel load_path_b=texel",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 packed_a=yes packed_b=yes",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
        "vector_width_b=4 load_path_b=texel"})
    variants.push_back(parse_variant(text));
  // Each operand with and without sign in both orders.
  expect_right(variants, {"i8_i32.nn", "i8.tt"}, 1);
  expect_right(variants, {"u8_i32.nt", "u8.nt", "u8_bf16.nt", "u8_i32.tn", "u8.tn", "u8_bf16.tn"},
               3);
  const Certificate fused = certificate(
      variants.back(),
      {.types = parse_types("u8_f16"), .epilogue = parse_epilogue("row_scale+column_scale+relu")});
  EXPECT_TRUE(fused.passed) << fused.detail;
}

TEST_F(CertifyTest, PackedDotProductsAreExact) {
  if (!device_->profile().limits.integer_dot_product) GTEST_SKIP() << "no packed dot products";
  std::vector<Variant> variants;
  for (const char* text :
       {"family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 packed_a=yes packed_b=yes dot=4",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel packed_b=yes dot=4",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 dot=4",
        "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
        "vector_width_a=4 vector_width_b=4 dot=4",
        "family=vector tile_m=2 tile_n=8 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 stage=shared "
        "vector_width_a=4 vector_width_b=4 load_path_b=texel dot=4",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 split_k=2 packed_a=yes "
        "packed_b=yes vector_width_a=4 vector_width_b=4 dot=4"})
    variants.push_back(parse_variant(text));
  expect_right(variants, {"i8_i32", "i8_f16"}, {kNo, kYes});
  expect_right(variants, {"u8_i32", "u8_f16"}, {kNo, kYes});
  EXPECT_FALSE(mutant(variants.front(), {parse_types("u8_i32")}, "id = 4451", "id = 4450").passed)
      << "unsigned integers were multiplied as signed ones";
}

TEST_F(CertifyTest, AtomicReductionsAreRight) {
  if (!device_->profile().limits.float32_atomic_add)
    GTEST_SKIP() << "no atomic addition of float32";
  const std::vector<Variant> variants = {
      parse_variant("family=register tile_m=4 tile_n=12 reg_m=2 reg_n=3 unroll_k=4 split_k=2 "
                    "reduction=atomic"),
      parse_variant("family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=2 "
                    "stage=shared vector_width_a=4 vector_width_b=4 split_k=3 reduction=atomic"),
      parse_variant("family=vector tile_m=1 tile_n=8 tile_k=16 reg_m=1 reg_n=4 unroll_k=4 "
                    "stage=shared vector_width_a=4 vector_width_b=4 split_k=4 reduction=atomic")};
  expect_right(variants, {"f32.nn", "f32_f16.tt", "i8_i32.nt", "u8_i32.tn"}, 1);
  const Certificate fused =
      certificate(variants.front(), {.epilogue = parse_epilogue("bias_column+gelu_tanh+residual")},
                  ShaderCache({}));
  EXPECT_TRUE(fused.passed) << fused.detail;
  EXPECT_FALSE(mutant(variants.front(), {}, "atomicAdd(c[i], x)", "c[i] = x").passed);
  EXPECT_FALSE(mutant(variants.front(), {}, "base_c + batch_index", "base_c + z").passed);
}

TEST_F(CertifyTest, SumsInHalfPrecisionAreRight) {
  if (!device_->profile().limits.float16_arithmetic) GTEST_SKIP() << "no 16-bit arithmetic";
  std::vector<Variant> variants = fusing_variants(device_->profile());
  variants.push_back(
      parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 "
                    "vector_width_a=4 vector_width_b=4 packed_a=yes packed_b=yes "
                    "load_path_a=texel"));
  expect_right(variants, {"f16_sum_f16.nn", "f16_f16_sum_f16.tt"}, 1);
  expect_right(variants, {"f16xq4b32_f16_sum_f16"}, {kYes});
}

TEST_F(CertifyTest, QuantizedBIsRightInEveryFamily) {
  std::vector<Variant> variants = fusing_variants(device_->profile());
  for (const char* text :
       {"family=vector tile_m=1 tile_n=8 tile_k=8 reg_m=1 reg_n=1 unroll_k=8 vector_width_a=4 "
        "load_path_a=texel load_path_b=texel",
        "family=vector tile_m=2 tile_n=8 tile_k=64 reg_m=2 reg_n=2 unroll_k=32 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel load_path_b=texel stage=shared",
        "family=vector tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4 "
        "vector_width_b=4",
        "family=register tile_m=8 tile_n=8 reg_m=4 reg_n=2 unroll_k=8 vector_width_a=4",
        "family=register tile_m=8 tile_n=8 reg_m=4 reg_n=2 unroll_k=8 vector_width_a=4 split_k=2 "
        "load_path_b=texel",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
        "vector_width_b=4 packed_b=yes load_path_b=texel",
        "family=tiled tile_m=32 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
        "vector_width_a=4 vector_width_b=4 stages=2 load_path_b=texel",
        "family=tiled tile_m=32 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
        "vector_width_a=4"})
    variants.push_back(parse_variant(text));
  expect_right(
      variants,
      {"f32xq4b32", "f16xq4b16z_f16", "f32xq4b64zf", "f32xq8b32z_f16", "f16xq8b16", "f16xq8b256zf"},
      {kYes});
}

TEST_F(CertifyTest, VectorKernelsThatReadAFromSharedMemoryAreRight) {
  std::vector<Variant> variants;
  for (const char* text :
       {"family=vector tile_m=1 tile_n=4 tile_k=64 reg_m=1 reg_n=1 unroll_k=16 vector_width_a=4 "
        "vector_width_b=4 stage=stored",
        "family=vector tile_m=2 tile_n=8 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel load_path_b=texel stage=stored split_k=2",
        // 18 loads of 10 invocations.
        "family=vector tile_m=3 tile_n=5 tile_k=24 reg_m=3 reg_n=1 unroll_k=12 vector_width_a=4 "
        "vector_width_b=2 stage=stored",
        // 4 loads of 16 invocations, of single elements.
        "family=vector tile_m=1 tile_n=8 tile_k=4 reg_m=1 reg_n=1 unroll_k=2 stage=stored"})
    variants.push_back(parse_variant(text));
  expect_right(variants, {"f32.nn", "f16_f16.nn", "bf16.nt", "i8_i32.nt"}, 2);
  if (device_->profile().limits.float16_arithmetic)
    expect_right(variants, {"f16_sum_f16"}, {kNo, kYes}, 2);
  const Variant quantized = parse_variant(
      "family=vector tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4 "
      "vector_width_b=4 load_path_b=texel stage=stored");
  expect_right({quantized}, {"f32xq4b32", "f16xq8b16z", "f32xq4_k", "f16xq5_k"}, {kNo, kYes}, 1);
  const Variant looped = parse_variant(
      "family=vector tile_m=1 tile_n=16 tile_k=128 reg_m=1 reg_n=8 unroll_k=64 vector_width_a=4 "
      "vector_width_b=4 load_path_b=texel stage=stored");
  expect_right({looped}, {"f32xq5_0"}, {kNo, kYes}, 1);
  Variant dot = variants[1];
  dot.dot = 4;
  if (device_->profile().limits.integer_dot_product)
    expect_right({dot}, {"u8_i32"}, {kNo, kYes}, 1);
  const Certificate grouped = certificate(variants[2], {.trans_b = kYes, .grouped = true});
  EXPECT_TRUE(grouped.passed) << grouped.detail;
}

TEST_F(CertifyTest, BlocksOfGgufFilesAreRightInEveryFamily) {
  std::vector<Variant> every;
  for (const char* text :
       {"family=naive tile_m=4 tile_n=8",
        "family=vector tile_m=1 tile_n=8 tile_k=16 reg_m=1 reg_n=2 unroll_k=16 vector_width_a=4 "
        "load_path_a=texel load_path_b=texel",
        "family=vector tile_m=2 tile_n=8 tile_k=64 reg_m=2 reg_n=2 unroll_k=64 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel load_path_b=texel",
        "family=vector tile_m=1 tile_n=8 tile_k=128 reg_m=1 reg_n=1 unroll_k=32 vector_width_a=4 "
        "vector_width_b=4 load_path_a=texel stage=shared split_k=2",
        "family=register tile_m=8 tile_n=8 reg_m=4 reg_n=2 unroll_k=16 vector_width_a=4 "
        "load_path_a=texel",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
        "vector_width_b=4 packed_b=yes load_path_b=texel",
        "family=tiled tile_m=32 tile_n=32 tile_k=32 reg_m=4 reg_n=4 unroll_k=2 stage=shared "
        "vector_width_a=4 stages=2 load_path_b=texel"})
    every.push_back(parse_variant(text));
  // A third of the pairs of a call is tried.
  expect_right(every, {"f32xq4_k", "f16xq5_k_f16", "f32xq6_k", "f32xq4_0", "bf16xq8_0", "f16xq5_0"},
               {kYes});
  expect_right({every[1], every[3], every[5]}, {"bf16xmxfp4_bf16", "f32xq5_k", "f32xq4_k"}, {kYes});
  std::vector<std::string> formats;
  for (const BlockLayout& layout : block_layouts())
    formats.push_back(fmt::format("f32x{}.nt", layout.name));
  expect_right({fallback_variant()}, formats, 1);
  expect_right(every,
               {"f32xq4_1", "bf16xq5_1", "f32xq2_k", "f16xq3_k_f16", "f32xiq4_nl", "f32xiq4_xs",
                "f16xnvfp4"},
               {kYes});
  // Windows of blocks. A comes from texels, whose loads lavapipe compiles in a third of the time.
  const std::string texels = "family=vector vector_width_a=4 vector_width_b=4 load_path_a=texel ";
  expect_right({parse_variant(texels + "tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=1 unroll_k=64 "
                                       "load_path_b=texel stage=shared"),
                parse_variant(texels + "tile_m=2 tile_n=4 tile_k=128 reg_m=2 reg_n=1 unroll_k=64 "
                                       "stage=shared split_k=2")},
               {"f32xq8_0", "f16xq4_0_f16", "bf16xq5_0", "f32xnvfp4", "f32xiq4_nl"}, {kYes});
  expect_right({parse_variant(texels + "tile_m=1 tile_n=4 tile_k=256 reg_m=1 reg_n=1 unroll_k=128 "
                                       "stage=shared")},
               {"f32xmxfp4", "f16xq6_k_f16", "f32xq2_k", "f32xq3_k", "bf16xiq4_xs", "f32xq4_1"},
               {kYes}, 1);
  // Windows of a single block, which is whole words, and of whole vectors.
  expect_right({parse_variant(texels + "tile_m=1 tile_n=4 tile_k=64 reg_m=1 reg_n=1 unroll_k=32 "
                                       "stage=shared"),
                parse_variant(texels + "tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=1 unroll_k=64 "
                                       "stage=shared")},
               {"f32xq4_1", "f32xq5_1"}, {kYes}, 1);
  expect_right({parse_variant(texels + "tile_m=1 tile_n=4 tile_k=256 reg_m=1 reg_n=1 unroll_k=256 "
                                       "load_path_b=texel")},
               {"f32xnvfp4", "f32xiq4_nl"}, {kYes}, 1);
  expect_right({parse_variant(texels + "tile_m=1 tile_n=16 tile_k=128 reg_m=1 reg_n=8 unroll_k=64 "
                                       "stage=shared")},
               {"f32xq5_0"}, {kYes});
  // By words, in a loop over columns: what is left of k are groups at any place of a block.
  expect_right({parse_variant(texels + "tile_m=1 tile_n=8 tile_k=64 reg_m=1 reg_n=8 unroll_k=64")},
               {"f32xq6_k"}, {kYes});
}

TEST_F(CertifyTest, BlocksThatAreLoadedAheadAreRight) {
  const std::string ahead =
      "family=vector vector_width_a=4 vector_width_b=4 stage=stored prefetch=ahead ";
  const std::string texels = ahead + "load_path_a=texel load_path_b=texel ";
  // Parts of a block and least windows; the words of several columns; whole blocks.
  const std::string one = "tile_m=1 tile_n=4 tile_k=256 reg_m=1 reg_n=1 unroll_k=64";
  expect_right({parse_variant(ahead + one)}, {"f32xq4_k.nt", "f32xq8_0.nt"}, 1);
  expect_right({parse_variant(texels + one)}, {"f16xq5_k_f16.nt", "bf16xq4_0.nt", "f32xq5_0.nt"},
               1);
  expect_right({parse_variant(texels + "tile_m=2 tile_n=4 tile_k=256 reg_m=2 reg_n=2 unroll_k=64 "
                                       "split_k=2")},
               {"f32xq5_k.nt"}, 1);
  expect_right({parse_variant(texels + "tile_m=1 tile_n=4 tile_k=256 reg_m=1 reg_n=1 unroll_k=128 "
                                       "split_k=2")},
               {"f16xq8_0.nt", "f32xmxfp4.nt", "f32xq6_k.nt", "f32xq2_k.nt", "f32xq3_k.nt",
                "f32xiq4_xs.nt", "f32xq4_1.nt"},
               1);
  expect_right(
      {parse_variant(texels + "tile_m=1 tile_n=4 tile_k=512 reg_m=1 reg_n=1 unroll_k=256")},
      {"f32xq8_0.nt"}, 1);
  if (device_->profile().limits.float16_arithmetic)
    expect_right({parse_variant(texels + one)},
                 {"f16xq4_k_f16_sum_f16.nt", "f16xq4_0_f16_sum_f16.nt"}, 1);
}

TEST_F(CertifyTest, MutantsOfTypesAreRefused) {
  const Variant naive = fallback_variant();
  const Variant packed = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes");
  const Variant texels = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel");
  const struct {
    const char* what;
    Variant variant;
    const char* types;
    const char* from;
    const char* to;
  } kMutants[] = {
      {"sign lost", naive, "i8_i32", "return int(bitfieldExtract(word, first, 8))",
       "return int(bitfieldExtract(word, first, 8)) & 127"},
      {"sign-extended words of A", naive, "u8_i32",
       "BYTE_WORD word = a_words[vector_index * VECTOR_WIDTH_A / 4]",
       "int word = int(a_words[vector_index * VECTOR_WIDTH_A / 4])"},
      {"sign-extended words of B", naive, "u8_i32",
       "BYTE_WORD word = b_words[vector_index * VECTOR_WIDTH_B / 4]",
       "int word = int(b_words[vector_index * VECTOR_WIDTH_B / 4])"},
      {"sign-extended texels of A", texels, "u8_i32", "VECTOR_A(texelFetch(a, int(vector_index)))",
       "VECTOR_A(ivec4(texelFetch(a, int(vector_index))) << 24 >> 24)"},
      {"sign-extended texels of B", texels, "u8", "VECTOR_B(texelFetch(b, int(vector_index)))",
       "VECTOR_B(ivec4(texelFetch(b, int(vector_index))) << 24 >> 24)"},
      {"zero-extended words of A", naive, "i8_i32", "return int(bitfieldExtract(word, first, 8))",
       "return int(bitfieldExtract(uint(word), first, 8))"},
      {"wrong byte", naive, "i8_i32", "% 4 * 8", "% 2 * 8"},
      {"old C not added", naive, "i8_i32", "return sum + old", "return sum"},
      {"the other half of a word", naive, "f32_f16", "0xffff0000u >> shift", "0xffffu << shift"},
      {"half not shifted", naive, "f32_bf16", "<< shift)", "<< 0)"},
      {"bfloat16 truncated", naive, "f32_bf16", "bits + 0x7fffu", "bits + 0x17fffu"},
      {"vectors of C swapped", packed, "f32_f16", "narrow_c(x.xy)", "narrow_c(x.zw)"},
      {"nibbles swapped", naive, "f32xq4b32", "bit = i * QUANT_BITS",
       "bit = (i ^ 1u) * QUANT_BITS"},
      {"zero in the wrong place", naive, "f32xq4b32", "1 << (QUANT_BITS - 1)",
       "1 << (QUANT_BITS - 2)"},
      {"upper values not shifted", naive, "f32xq8b32", "(word >> shift)", "word"},
      {"scale of the next block", naive, "f32xq4b32", "b_row * blocks + block)",
       "b_row * blocks + min(block + 1, blocks - 1))"},
      {"zero points of another row", naive, "f32xq4b32z", "zero_point_at(zero_point_row(row,",
       "zero_point_at(zero_point_row(row ^ 1u,"},
      {"zero point's other nibble", naive, "f32xq4b32z", "int(bit % 8)", "int(bit % 8) ^ 4"},
  };
  for (const auto& [what, variant, types, from, to] : kMutants) {
    const Transpose trans_b = quantized(parse_types(types)) ? kYes : kNo;
    EXPECT_FALSE(mutant(variant, {parse_types(types), kNo, trans_b}, from, to).passed) << what;
  }
}

// templates/epilogue/narrow.glsl works around this defect: SwiftShader's instruction gives NaN
// for infinities and changes the adjacent element.
TEST_F(CertifyTest, AKernelWithADefectOfTheDriversConversionToHalfPrecisionIsRefused) {
  const Certificate plain =
      mutant(fallback_variant(), {.types = parse_types("f32_f16")}, "uint narrow_c(vec2 x) {",
             "uint narrow_c(vec2 x) { return packHalf2x16(x);");
  const bool defect = is_swiftshader(device_->profile());
  EXPECT_EQ(plain.passed, !defect) << plain.detail;
  EXPECT_EQ(plain.detail.empty(), !defect) << "certification did not reject the result";
}

TEST_F(CertifyTest, MutantsOfSixteenBitLoadsAreRefused) {
  const Variant v = fallback_variant();
  EXPECT_FALSE(mutant(v, {.types = {DataType::kBf16}}, "word << 16", "word << 15").passed);
  EXPECT_FALSE(
      mutant(v, {.types = {DataType::kF16}}, "vector_index / 2", "vector_index / 2 + 1").passed);
  EXPECT_FALSE(mutant(v, {.types = {DataType::kF16}}, "[vector_index % 2]", "[0]").passed);
  EXPECT_FALSE(mutant(v, {.types = {DataType::kBf16}}, "0xffff0000u", "0xfff00000u").passed);
}

TEST_F(CertifyTest, MutantsOfTheEpilogueAreRefused) {
  const Signature all = {
      .epilogue = parse_epilogue("row_scale+column_scale+bias_column+gelu_erf+residual+clamp")};
  const struct {
    const char* what;
    const char* from;
    const char* to;
  } kMutants[] = {
      {"row scale by column", "offset_row_scale + row", "offset_row_scale + column"},
      {"column scale by row", "offset_column_scale + column", "offset_column_scale + row"},
      {"bias of the wrong side", "offset_bias + column", "offset_bias + row"},
      {"another gelu", "0.70710678118654752", "0.7"},
      {"a coefficient of erf", "1.28379166e-1", "1.28579166e-1"},
      {"residual of the first product", "batch_index * stride_residual", "0 * stride_residual"},
      {"residual's rows", "row * ld_residual", "row * n"},
      {"clamp below only", "y > clamp_high ? clamp_high : y", "y"},
      {"C after the bias", "y += old;", "y += old * 0.5;"},
  };
  for (const auto& [what, from, to] : kMutants)
    EXPECT_FALSE(mutant(fallback_variant(), all, from, to).passed) << what;
}

TEST_F(CertifyTest, ASampleOfTheSpacePasses) {
  const std::vector<Variant> space = legal_variants(device_->profile().limits);
  constexpr std::size_t kEvery = 131;
  // Longer kernels repeat the code of shorter ones. Lavapipe compiles one for up to 5 s, and
  // SwiftShader's compiler takes a time that grows with the square of the statements.
  const double most_statements = one_in() > 1 ? 300 : 600;
  std::size_t turn = 0;
  for (std::size_t i = 0; i < space.size(); i += kEvery, ++turn) {
    const auto signature = [&](const Variant& v) {
      return Signature{parse_types(v.dot > 1 ? "i8_i32" : "f32"), turn % 2 == 0 ? kNo : kYes,
                       turn / 2 % 2 == 0 ? kYes : kNo};
    };
    const auto is_short = [&](const Variant& v) {
      return compiler_work(v, signature(v)) <= most_statements;
    };
    const auto v =
        std::find_if(space.begin() + static_cast<std::ptrdiff_t>(i), space.end(), is_short);
    // Where the device has no atomic float32 addition, atomic reductions are legal for integers
    // alone.
    if (v == space.end() || illegal_reason(*v, device_->profile().limits, signature(*v))) continue;
    const Certificate result = certificate(*v, signature(*v), ShaderCache({}));
    EXPECT_TRUE(result.passed) << to_string(*v) << ": " << result.detail;
  }
}

}  // namespace
}  // namespace rooftile
