// A fake driver of three functions returns the compiler's statistics and texts: complete,
// truncated, failing and inconsistent.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "runtime/device/physical/executable_properties.h"

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

/// Texts of every executable; "" stands for one that is no text. The fake driver claims
/// claimed_bytes for each, if that is not 0.
struct TextScript {
  std::vector<std::string> texts;
  std::size_t claimed_bytes = 0;
  VkResult filling = VK_SUCCESS;  // result of the call that fills the texts
};
TextScript text_script;

VKAPI_ATTR VkResult VKAPI_CALL
fake_representations(VkDevice, const VkPipelineExecutableInfoKHR*, std::uint32_t* count,
                     VkPipelineExecutableInternalRepresentationKHR* entries) {
  const auto& texts = text_script.texts;
  if (entries == nullptr) {
    *count = static_cast<std::uint32_t>(texts.size());
    return VK_SUCCESS;
  }
  *count = std::min(*count, static_cast<std::uint32_t>(texts.size()));
  bool fills = false;
  for (std::uint32_t i = 0; i < *count; ++i) {
    put(entries[i].name, "text " + std::to_string(i));
    put(entries[i].description, "what it is");
    entries[i].isText = texts[i].empty() ? VK_FALSE : VK_TRUE;
    if (entries[i].pData == nullptr) {
      entries[i].dataSize =
          text_script.claimed_bytes != 0 ? text_script.claimed_bytes : texts[i].size() + 1;
      continue;
    }
    fills = true;
    const std::size_t bytes = std::min(entries[i].dataSize, texts[i].size() + 1);
    std::memcpy(entries[i].pData, texts[i].c_str(), bytes);
    entries[i].dataSize = bytes;
  }
  return fills ? text_script.filling : VK_SUCCESS;
}

std::vector<CompilerStatistic> read_statistics(Script next) {
  script = std::move(next);
  return all_statistics(read_executables(VK_NULL_HANDLE, VK_NULL_HANDLE,
                                         {fake_properties, fake_statistics, nullptr}));
}

std::vector<CompilerText> read_texts(TextScript next) {
  script = {.executables = {{}}};
  text_script = std::move(next);
  return read_executables(VK_NULL_HANDLE, VK_NULL_HANDLE,
                          {fake_properties, fake_statistics, fake_representations})
      .at(0)
      .texts;
}

TEST(ReadExecutablesTest, EveryFormatOfEveryExecutable) {
  const auto read_back =
      read_statistics({.executables = {{statistic("yes", kBool, {.b32 = VK_TRUE}),
                                        statistic("signed", kInt, {.i64 = -3})},
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

TEST(ReadExecutablesTest, TextWithoutAnEndIsCut) {
  auto raw = statistic("", kUint, {.u64 = 1});
  std::memset(raw.name, 'x', sizeof raw.name);
  std::memset(raw.description, 'y', sizeof raw.description);
  const auto read_back = read_statistics({.executables = {{raw}}});
  ASSERT_THAT(read_back, SizeIs(1));
  EXPECT_EQ(read_back[0].name, std::string(VK_MAX_DESCRIPTION_SIZE, 'x'));
  EXPECT_EQ(read_back[0].description, std::string(VK_MAX_DESCRIPTION_SIZE, 'y'));
}

TEST(ReadExecutablesTest, CountsAreBounded) {
  const auto raw = statistic("x", kUint, {.u64 = 1});
  EXPECT_THAT(read_statistics({.executables = {{raw, raw}}, .claimed_executables = 0xffffffff}),
              SizeIs(2));
  EXPECT_THAT(read_statistics({.executables = {{raw, raw}}, .claimed_statistics = 0xffffffff}),
              SizeIs(2));
  EXPECT_THAT(read_statistics({.executables = {50, {300, raw}},
                               .properties = VK_INCOMPLETE,
                               .statistics = VK_INCOMPLETE}),
              SizeIs(kMostExecutables * kMostStatistics));
}

TEST(ReadExecutablesTest, WhatCannotBeReadIsLeftOut) {
  const auto raw = statistic("x", kUint, {.u64 = 1});
  EXPECT_THAT(read_statistics({}), IsEmpty());
  EXPECT_THAT(read_statistics({.executables = {{raw}}, .properties = VK_ERROR_OUT_OF_HOST_MEMORY}),
              IsEmpty());
  EXPECT_THAT(read_statistics({.executables = {{raw}}, .statistics = VK_ERROR_DEVICE_LOST}),
              IsEmpty());
  EXPECT_THAT(
      read_statistics(
          {.executables =
               {{statistic("new", static_cast<VkPipelineExecutableStatisticFormatKHR>(9), {}),
                 statistic("nan", kFloat, {.f64 = std::numeric_limits<double>::quiet_NaN()}),
                 raw}}}),
      SizeIs(1));
  EXPECT_THAT(read_executables(VK_NULL_HANDLE, VK_NULL_HANDLE, {}), IsEmpty());
}

CompilerText text(std::string name, std::string content) {
  return {.name = std::move(name), .description = "what it is", .text = std::move(content)};
}

TEST(ReadExecutablesTest, TextsAreReadWithoutBinaryData) {
  EXPECT_THAT(read_texts({.texts = {"s_endpgm\n", "", "shader"}}),
              ElementsAre(text("text 0", "s_endpgm\n"), text("text 2", "shader")));
}

TEST(ReadExecutablesTest, TextsThatTheDriverMisstatesAreCut) {
  EXPECT_THAT(read_texts({.texts = {"s_endpgm"}, .claimed_bytes = 3}),
              ElementsAre(text("text 0", "s_e")));
  EXPECT_THAT(read_texts({.texts = {"s_endpgm"}, .claimed_bytes = kMostTextBytes + 1}),
              ElementsAre(text("text 0", "s_endpgm")));
  EXPECT_THAT(read_texts({.texts = std::vector<std::string>(50, "x")}), SizeIs(kMostTexts));
  EXPECT_THAT(read_texts({.texts = {"x"}, .filling = VK_INCOMPLETE}), SizeIs(1));
  EXPECT_THAT(read_texts({.texts = {"x"}, .filling = VK_ERROR_OUT_OF_HOST_MEMORY}), IsEmpty());
  EXPECT_THAT(read_texts({}), IsEmpty());
}

}  // namespace
}  // namespace rooftile
