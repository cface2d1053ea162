// A fake driver of two functions returns the compiler's statistics: complete, truncated, failing
// and inconsistent.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "runtime/device/physical/compiler_statistics.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <std::size_t kSize>
void put(char (&target)[kSize], std::string_view text) {
  std::ranges::fill(target, '\0');
  std::ranges::copy(text.substr(0, kSize - 1), target);
}

VkPipelineExecutableStatisticKHR statistic(const char* name,
                                           VkPipelineExecutableStatisticFormatKHR format,
                                           VkPipelineExecutableStatisticValueKHR value) {
  VkPipelineExecutableStatisticKHR raw = {};
  put(raw.name, name);
  put(raw.description, "what it is");
  raw.format = format;
  raw.value = value;
  return raw;
}

constexpr auto kBool = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR;
constexpr auto kInt = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR;
constexpr auto kUint = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR;
constexpr auto kFloat = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR;

/// Answers of the fake driver, global because its functions get no other context.
struct Script {
  std::vector<std::vector<VkPipelineExecutableStatisticKHR>> executables;
  std::uint32_t claimed_executables = 0, claimed_statistics = 0;  // 0: the true number
  VkResult properties = VK_SUCCESS, statistics = VK_SUCCESS;      // results of the second call
};
Script script;

VKAPI_ATTR VkResult VKAPI_CALL fake_properties(VkDevice, const VkPipelineInfoKHR*,
                                               std::uint32_t* count,
                                               VkPipelineExecutablePropertiesKHR* entries) {
  const auto there = static_cast<std::uint32_t>(script.executables.size());
  if (entries == nullptr) {
    *count = script.claimed_executables != 0 ? script.claimed_executables : there;
    return VK_SUCCESS;
  }
  *count = std::min(*count, there);
  for (std::uint32_t i = 0; i < *count; ++i) put(entries[i].name, "part " + std::to_string(i));
  return script.properties;
}

VKAPI_ATTR VkResult VKAPI_CALL fake_statistics(VkDevice, const VkPipelineExecutableInfoKHR* which,
                                               std::uint32_t* count,
                                               VkPipelineExecutableStatisticKHR* entries) {
  const auto& all = script.executables[which->executableIndex];
  if (entries == nullptr) {
    *count = script.claimed_statistics != 0 ? script.claimed_statistics
                                            : static_cast<std::uint32_t>(all.size());
    return VK_SUCCESS;
  }
  *count = std::min(*count, static_cast<std::uint32_t>(all.size()));
  std::copy_n(all.begin(), *count, entries);
  return script.statistics;
}

std::vector<CompilerStatistic> read(Script next) {
  script = std::move(next);
  return read_compiler_statistics(VK_NULL_HANDLE, VK_NULL_HANDLE,
                                  {fake_properties, fake_statistics});
}

TEST(ReadStatisticsTest, EveryFormatOfEveryExecutable) {
  const auto read_back =
      read({.executables = {
                {statistic("yes", kBool, {.b32 = VK_TRUE}), statistic("signed", kInt, {.i64 = -3})},
                {statistic("unsigned", kUint, {.u64 = ~std::uint64_t{0}}),
                 statistic("real", kFloat, {.f64 = 2.5})}}});
  const auto expected = [](std::string executable, std::string name, auto value) {
    return CompilerStatistic{.executable = std::move(executable),
                             .name = std::move(name),
                             .description = "what it is",
                             .value = value};
  };
  EXPECT_THAT(read_back, ElementsAre(expected("part 0", "yes", true),
                                     expected("part 0", "signed", std::int64_t{-3}),
                                     expected("part 1", "unsigned", ~std::uint64_t{0}),
                                     expected("part 1", "real", 2.5)));
}

TEST(ReadStatisticsTest, TextWithoutAnEndIsCut) {
  auto raw = statistic("", kUint, {.u64 = 1});
  std::memset(raw.name, 'x', sizeof raw.name);
  std::memset(raw.description, 'y', sizeof raw.description);
  const auto read_back = read({.executables = {{raw}}});
  ASSERT_THAT(read_back, SizeIs(1));
  EXPECT_EQ(read_back[0].name, std::string(VK_MAX_DESCRIPTION_SIZE, 'x'));
  EXPECT_EQ(read_back[0].description, std::string(VK_MAX_DESCRIPTION_SIZE, 'y'));
}

TEST(ReadStatisticsTest, CountsAreBounded) {
  const auto raw = statistic("x", kUint, {.u64 = 1});
  EXPECT_THAT(read({.executables = {{raw, raw}}, .claimed_executables = 0xffffffff}), SizeIs(2));
  EXPECT_THAT(read({.executables = {{raw, raw}}, .claimed_statistics = 0xffffffff}), SizeIs(2));
  EXPECT_THAT(read({.executables = {50, {300, raw}},
                    .properties = VK_INCOMPLETE,
                    .statistics = VK_INCOMPLETE}),
              SizeIs(kMostExecutables * kMostStatistics));
}

TEST(ReadStatisticsTest, WhatCannotBeReadIsLeftOut) {
  const auto raw = statistic("x", kUint, {.u64 = 1});
  EXPECT_THAT(read({}), IsEmpty());
  EXPECT_THAT(read({.executables = {{raw}}, .properties = VK_ERROR_OUT_OF_HOST_MEMORY}), IsEmpty());
  EXPECT_THAT(read({.executables = {{raw}}, .statistics = VK_ERROR_DEVICE_LOST}), IsEmpty());
  EXPECT_THAT(
      read({.executables =
                {{statistic("new", static_cast<VkPipelineExecutableStatisticFormatKHR>(9), {}),
                  statistic("nan", kFloat, {.f64 = std::numeric_limits<double>::quiet_NaN()}),
                  raw}}}),
      SizeIs(1));
  EXPECT_THAT(read_compiler_statistics(VK_NULL_HANDLE, VK_NULL_HANDLE, {}), IsEmpty());
}

}  // namespace
}  // namespace rooftile
