// Right kernels pass; the same kernels with one planted mistake are refused.
#include "tuner/certify.h"

#include <gtest/gtest.h>

#include "generator/space.h"
#include "tests/runtime/scratch.h"

namespace rooftile {
namespace {

class CertifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Enumeration found = enumerate_devices();
    ASSERT_FALSE(found.devices.empty()) << found.note;
    device_ = Device::open(found.devices.front());
  }
  Certificate certificate(const Variant& variant, const Signature& signature,
                          const ShaderCache& cache) {
    return certify(*device_, Kernel(device_, variant, signature, cache), signature);
  }
  /// Puts code compiled from changed text under the unchanged kernel's hash, where Kernel will find
  /// it.
  Certificate mutant(const Variant& variant, const Signature& signature, const std::string& from,
                     const std::string& to) {
    Shader shader = emit_gemm(variant, signature);
    const std::size_t at = shader.glsl.find(from);
    EXPECT_NE(at, std::string::npos)
        << "'" << from << "' is not in the shader: the mutation needs an update";
    if (at == std::string::npos) return {};
    shader.glsl.replace(at, from.size(), to);
    const ScratchFolder folder;
    const ShaderCache cache(folder.path());
    cache.spirv(shader);
    return certificate(variant, signature, cache);
  }
  std::shared_ptr<Device> device_;
};

TEST_F(CertifyTest, DefaultAndFallbackPassForEveryTranspose) {
  for (const Variant& variant : {default_variant(device_->profile()), fallback_variant()}) {
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
      {"beta read at 0", "beta != 0.0 ?", "beta != 2.0 ?"},
      {"beta forgotten", "? beta * c[target]", "? c[target]"},
      {"stride of the batch forgotten", "z * stride_c", "0 * stride_c"},
      {"shared B not shared", "product * stride_b", "product * stride_a"},
      {"offset of C forgotten", "offset_c + row", "row"},
  };
  for (const auto& [what, from, to] : kMutants)
    EXPECT_FALSE(mutant(fallback_variant(), plain, from, to).passed) << what;
}

// One kernel a family, and a split one, whose epilogue is the reduction's.
std::vector<Variant> fusing_variants(const DeviceProfile& device) {
  return {fallback_variant(),
          default_variant(device),
          parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 split_k=2"),
          parse_variant("family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 "
                        "stage=shared vector_width_a=4 vector_width_b=4"),
          parse_variant("family=vector tile_m=2 tile_n=8 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 "
                        "stage=shared vector_width_a=4 vector_width_b=4"),
          parse_variant("family=batched_small tile_m=8 tile_n=8 reg_m=4 reg_n=4 unroll_k=4 "
                        "tile_batch=2")};
}

TEST_F(CertifyTest, EveryEpilogueIsFusedInEveryFamily) {
  const std::vector<const char*> epilogues = {
      "row_scale",
      "column_scale",
      "bias_row+relu",
      "bias_column+gelu_erf",
      "gelu_tanh+clamp",
      "silu+residual",
      "row_scale+column_scale+bias_column+silu+residual+clamp"};
  for (const Variant& variant : fusing_variants(device_->profile())) {
    for (const char* text : epilogues) {
      const Certificate result = certificate(
          variant, {.trans_b = Transpose::kYes, .epilogue = parse_epilogue(text)}, ShaderCache({}));
      EXPECT_TRUE(result.passed) << short_name(variant) << " " << text << ": " << result.detail;
    }
  }
}

// Every way in which 16-bit operands are loaded: words and texels of every width, panels.
TEST_F(CertifyTest, SixteenBitOperandsAreRightInEveryFamily) {
  std::vector<Variant> variants = fusing_variants(device_->profile());
  variants.push_back(parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
      "vector_width_b=4 load_path_b=texel"));
  variants.push_back(parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 load_path_a=texel"));
  variants.push_back(parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes"));
  for (const Variant& variant : variants)
    for (DataType type : {DataType::kF16, DataType::kBf16})
      for (Transpose trans_a : {Transpose::kNo, Transpose::kYes})
        for (Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
          const Signature signature = {.type = type, .trans_a = trans_a, .trans_b = trans_b};
          const Certificate result = certificate(variant, signature, ShaderCache({}));
          EXPECT_TRUE(result.passed)
              << short_name(variant) << " " << to_string(signature) << ": " << result.detail;
        }
}

TEST_F(CertifyTest, MutantsOfSixteenBitLoadsAreRefused) {
  const Variant v = fallback_variant();
  EXPECT_FALSE(mutant(v, {.type = DataType::kBf16}, "word << 16", "word << 15").passed);
  EXPECT_FALSE(
      mutant(v, {.type = DataType::kF16}, "vector_index / 2", "vector_index / 2 + 1").passed);
  EXPECT_FALSE(mutant(v, {.type = DataType::kF16}, "[vector_index % 2]", "[0]").passed);
  EXPECT_FALSE(mutant(v, {.type = DataType::kBf16}, "0xffff0000u", "0xfff00000u").passed);
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
      {"residual of the first product", "product * stride_residual", "0 * stride_residual"},
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
  for (std::size_t i = 0; i < space.size(); i += kEvery) {
    const Certificate result = certificate(space[i], {}, ShaderCache({}));
    EXPECT_TRUE(result.passed) << to_string(space[i]) << ": " << result.detail;
  }
}

}  // namespace
}  // namespace rooftile
