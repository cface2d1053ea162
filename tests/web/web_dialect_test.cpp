#include <gmock/gmock.h>

#include "core/error.h"
#include "generator/compile.h"
#include "generator/family_defaults.h"
#include "generator/space.h"
#include "generator/web/dialect.h"
#include "web_cases.h"

namespace rooftile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

const Variant kTiled = parse_variant(
    "family=tiled tile_m=64 tile_n=32 tile_k=16 reg_m=4 reg_n=4 vector_width_a=4 vector_width_b=4 "
    "stage=shared shared_pad=4 unroll_k=8");

TEST(WebDialect, HasItsParametersBehindTheBuffers) {
  const Shader plain = emit_gemm(kTiled, {}, Dialect::kWeb);
  EXPECT_THAT(plain.glsl, HasSubstr("layout(binding = 3, std140) uniform Problem {"));
  EXPECT_THAT(plain.glsl, Not(HasSubstr("push_constant")));
  EXPECT_EQ(plain.interface.push_constants_bytes, block_bytes<GemmPushConstants>({}));
  const Shader fused =
      emit_gemm(kTiled, parse_signature("f32.nn.bias_row+residual"), Dialect::kWeb);
  EXPECT_THAT(fused.glsl, HasSubstr("layout(binding = 5, std140) uniform Problem {"));
  EXPECT_THAT(emit_reduce({}, Dialect::kWeb).glsl,
              HasSubstr("layout(binding = 2, std140) uniform Reduction {"));
}

TEST(WebDialect, LeavesTheTextForVulkanAsItIs) {
  const Shader vulkan = emit_gemm(kTiled, {});
  EXPECT_THAT(vulkan.glsl, HasSubstr("layout(push_constant) uniform Problem {"));
  EXPECT_THAT(vulkan.glsl, HasSubstr("uint k, offset_a, offset_b, offset_c;"));
  EXPECT_NE(vulkan.hash, emit_gemm(kTiled, {}, Dialect::kWeb).hash);
}

TEST(WebDialect, EndsLoopsWithBarriersAtValuesOfTheUniformBuffer) {
  EXPECT_THAT(emit_gemm(kTiled, {}, Dialect::kWeb).glsl, HasSubstr("#define k depth"));
  Variant split = kTiled;
  split.split_k = 2;
  EXPECT_THAT(emit_gemm(split, {}, Dialect::kWeb).glsl, HasSubstr("#define k steps_of_split()"));
}

TEST(WebDialect, DoesWithoutSpirvOpt) {
  Variant v = kTiled;
  v.optimization = Optimization::kPerformance;
  EXPECT_EQ(emit_gemm(v, {}, Dialect::kWeb).optimization, Optimization::kZero);
}

TEST(WebDialect, HasNoBufferThatIsOnlyWritten) {
  Variant packed = kTiled;
  packed.packed_a = Packed::kYes;
  EXPECT_THAT(emit_pack(packed, {}, Operand::kA, Dialect::kWeb).glsl, Not(HasSubstr("writeonly")));
}

TEST(WebDialect, RefusesATemplateWithoutParameters) {
  EXPECT_THROW(web_text("void main() {}\n", 3, WebSteps::kOwn), Error);
}

std::optional<std::string> why_illegal(const std::string& variant, const WebGpuAdapter& adapter,
                                       const std::string& signature = "f32.nn") {
  return illegal_reason(parse_variant(variant), webgpu_limits(adapter), parse_signature(signature));
}

TEST(WebGpuAdapter, SaysWhyAKernelIsIllegal) {
  const std::string broadcast =
      "family=broadcast tile_m=16 tile_n=64 reg_m=16 reg_n=8 vector_width_a=4 vector_width_b=4 "
      "stage=subgroup unroll_k=8 packed_a=yes packed_b=yes raster=column subgroup_size=8";
  EXPECT_THAT(why_illegal(broadcast, {}), Optional(HasSubstr("subgroup")));
  EXPECT_EQ(
      why_illegal(broadcast, {.subgroups = true, .subgroup_min_size = 8, .subgroup_max_size = 8}),
      std::nullopt);
  EXPECT_THAT(
      why_illegal(broadcast, {.subgroups = true, .subgroup_min_size = 8, .subgroup_max_size = 16}),
      Optional(HasSubstr("subgroup")));
  EXPECT_THAT(why_illegal(to_string(kTiled) + " load_path_a=texel", {}),
              Optional(HasSubstr("texel buffers")));
  EXPECT_THAT(why_illegal(to_string(kTiled) + " split_k=2 reduction=atomic", {}),
              Optional(HasSubstr("atomic")));
  EXPECT_THAT(why_illegal(to_string(kTiled), {}, "f16_f16_sum_f16.nn"),
              Optional(HasSubstr("16-bit arithmetic")));
  EXPECT_EQ(why_illegal(to_string(kTiled), {.shader_f16 = true}, "f16_f16_sum_f16.nn"),
            std::nullopt);
  EXPECT_THAT(why_illegal(to_string(kTiled) + " dot=4", {}, "i8_i32.nt"),
              Optional(HasSubstr("packed dot products")));
}

}  // namespace
}  // namespace rooftile
