// Statistics of a real compiler. The tests are skipped where the driver does not offer them.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;

const char* const kSharedShader = R"(
    layout(local_size_x = 64) in;
    layout(binding = 0) buffer Y { float y[]; };
    shared float tile[1024];
    void main() {
      for (uint i = gl_LocalInvocationIndex; i < 1024; i += 64) tile[i] = y[i];
      barrier();
      float sum = 0;
      for (uint i = 0; i < 1024; ++i) sum += tile[i ^ gl_LocalInvocationIndex];
      y[gl_LocalInvocationIndex] = sum;
    })";

// 384 sums that are live to the end need more registers than any device has.
const char* const kSpillingShader = R"(
    #extension GL_EXT_control_flow_attributes : require
    layout(local_size_x = 256) in;
    layout(binding = 0) buffer Y { float y[]; };
    void main() {
      float sums[384];
      [[unroll]] for (int i = 0; i < 384; ++i) sums[i] = 0;
      for (int k = 0; k < 100; ++k) {
        float a = y[k * 256 + gl_LocalInvocationIndex];
        [[unroll]] for (int i = 0; i < 384; ++i) sums[i] = sums[i] * a + a;
      }
      [[unroll]] for (int i = 0; i < 384; ++i) y[i * 256 + gl_LocalInvocationIndex] = sums[i];
    })";

std::vector<CompilerStatistic> statistics_of(const char* shader, CompilerStatistics wanted) {
  const auto device = Device::open(first_profile(), {.compiler_statistics = wanted});
  return all_statistics(
      device->create_pipeline(compile_shader(shader), {.bindings = {BindingKind::kStorageBuffer}})
          .executables());
}

TEST(CompilerStatisticsTest, StatisticsAreKeptOnlyOnRequest) {
  EXPECT_THAT(statistics_of(kSharedShader, CompilerStatistics::kDiscard), IsEmpty());
}

TEST(CompilerStatisticsTest, RegistersAndSharedMemoryOfAShader) {
  const auto statistics = statistics_of(kSharedShader, CompilerStatistics::kKeep);
  if (statistics.empty())
    GTEST_SKIP() << first_profile().name << " has no VK_KHR_pipeline_executable_properties";
  const CompilerFacts facts = compiler_facts(statistics);
  for (const CompilerStatistic& statistic : statistics) EXPECT_NE(statistic.name, "");
  EXPECT_GT(facts.registers.value_or(1), 0);
  EXPECT_GE(facts.shared_bytes.value_or(4096), 4096);
  EXPECT_LT(facts.shared_bytes.value_or(4096), 8192);
  EXPECT_GT(facts.subgroups_per_unit.value_or(1), 0);
  EXPECT_EQ(spill_reason(facts), std::nullopt);
}

TEST(CompilerStatisticsTest, SpillsAreReported) {
  const auto statistics = statistics_of(kSpillingShader, CompilerStatistics::kKeep);
  const CompilerFacts facts = compiler_facts(statistics);
  if (!facts.spilled_registers && !facts.spill_stores)
    GTEST_SKIP() << "the compiler of " << first_profile().name << " does not tell spills";
  EXPECT_NE(spill_reason(facts), std::nullopt);
}

}  // namespace
}  // namespace rooftile
