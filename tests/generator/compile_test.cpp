#include "generator/compile.h"

#include <gmock/gmock.h>

#include <spirv-tools/libspirv.hpp>
#include <thread>

#include "core/error.h"
#include "generator/space.h"
#include "test_limits.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

/// The validator's messages for a Vulkan 1.1 module; empty when it is valid.
std::string complaints(const std::vector<std::uint32_t>& words) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
  std::string text;
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                               const char* message) { text += message; });
  return tools.Validate(words) ? "" : "invalid: " + text;
}

void expect_valid(const Variant& v) {
  for (Signature s : all_signatures()) {
    // Each combination of signs uses a dot product instruction of its own.
    if (v.dot > 1) s.types = parse_types(s.trans_b == Transpose::kYes ? "i8_i32" : "u8_i32");
    EXPECT_EQ(complaints(compile(emit_gemm(v, s))), "") << to_string(v);
    if (v.packed_a == Packed::kYes) {
      EXPECT_EQ(complaints(compile(emit_pack(v, s, Operand::kA))), "");
    }
    if (v.packed_b == Packed::kYes) {
      EXPECT_EQ(complaints(compile(emit_pack(v, s, Operand::kB))), "");
    }
  }
}

/// Every step-th variant for which keep returns true.
template <typename Keep>
std::vector<Variant> sample(const DeviceLimits& limits, std::size_t step, Keep keep) {
  std::vector<Variant> kept, taken;
  for (const Variant& v : legal_variants(limits))
    if (keep(v)) kept.push_back(v);
  for (std::size_t i = 0; i < kept.size(); i += step) taken.push_back(kept[i]);
  return taken;
}

class CompiledSpace : public testing::TestWithParam<Family> {};

// Steps are prime, so that a sample contains all values of all parameters.
TEST_P(CompiledSpace, IsValidOnLavapipe) {
  for (const Variant& v :
       sample(lavapipe_limits(), 29, [](const Variant& x) { return x.family == GetParam(); }))
    expect_valid(v);
}

TEST_P(CompiledSpace, IsValidOnGpus) {
  for (const DeviceLimits& limits : {discrete_limits(), variable_limits()})
    for (const Variant& v :
         sample(limits, 73, [](const Variant& x) { return x.family == GetParam(); }))
      expect_valid(v);
}

INSTANTIATE_TEST_SUITE_P(Families, CompiledSpace,
                         testing::Values(Family::kNaive, Family::kRegister, Family::kTiled,
                                         Family::kBroadcast),
                         [](const auto& family) { return std::string(name(family.param)); });

TEST(Compile, EverySubgroupSizeHasItsLanes) {
  for (int lanes : {4, 8, 16, 32, 64}) {
    Variant v = broadcast_point();
    v.subgroup_size = lanes;
    v.tile_n = 8 * lanes;
    v.reg_m = v.tile_m = 32;
    DeviceLimits limits = lavapipe_limits();
    limits.subgroup_size = static_cast<std::uint32_t>(lanes);
    ASSERT_EQ(reason(v, limits), "");
    expect_valid(v);
  }
}

TEST(Compile, GivesSpirv13) {
  const std::vector<std::uint32_t> words = compile(emit_gemm(naive_point(), {}));
  ASSERT_GT(words.size(), 5u);
  EXPECT_EQ(words[0], 0x07230203u);
  EXPECT_EQ(words[1], 0x00010300u);
}

TEST(Compile, HonoursTheOptimizationLevel) {
  EXPECT_NE(compile(emit_gemm(tiled_point(), {})),
            compile(emit_gemm(with(tiled_point(), "optimization", "performance"), {})));
}

TEST(Compile, ErrorContainsTheCompilersMessage) {
  Shader shader = emit_gemm(naive_point(), {});
  shader.glsl += "\n#error nonsense\n";
  EXPECT_THAT(message_of([&] { compile(shader); }, ErrorCode::kCompile),
              testing::HasSubstr("nonsense"));
}

TEST(Compile, WorksFromSeveralThreadsAtOnce) {
  const std::vector<std::uint32_t> alone = compile(emit_gemm(tiled_point(), {}));
  std::vector<std::vector<std::uint32_t>> results(3);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results)
      threads.emplace_back([&result] { result = compile(emit_gemm(tiled_point(), {})); });
  }
  EXPECT_THAT(results, testing::Each(alone));
}

}  // namespace
}  // namespace rooftile
