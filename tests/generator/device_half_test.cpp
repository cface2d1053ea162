// The conversion of results to half precision, on the device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/half.h"
#include "device_product.h"
#include "generator/compile.h"
#include "generator/templates.h"

namespace rooftile {
namespace {

constexpr double kHalfPatience_ns = 60e9;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Rounding to nearest gives infinity from here on: the middle between 65504 and 2^16.
constexpr float kFirstInfinite = 65520;

struct Pair {
  float x, y;
};

/// narrow_c for float16, as the template has it.
std::string narrow_f16() {
  constexpr std::string_view kCondition = "#if TYPE_C == F16\n";
  const std::string_view text = template_text("epilogue/narrow.glsl");
  const std::size_t begin = text.find(kCondition) + kCondition.size();
  return std::string(text.substr(begin, text.find("#elif") - begin));
}

/// convert(vec2(x, y)) for each pair of a list; the GLSL text defines it as narrow_c.
std::vector<std::uint32_t> converted(const std::string& convert, const std::vector<Pair>& pairs) {
  const std::string glsl = fmt::format(
      "#version 450\n{}\n"
      "layout(local_size_x = 1) in;\n"
      "layout(binding = 0, std430) readonly buffer X {{ vec2 x[]; }};\n"
      "layout(binding = 1, std430) writeonly buffer Y {{ uint y[]; }};\n"
      "void main() {{ y[gl_WorkGroupID.x] = narrow_c(x[gl_WorkGroupID.x]); }}\n",
      convert);
  const ShaderInterface interface = {
      .bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer}};
  const Pipeline pipeline = test_device().create_pipeline(
      compile({.glsl = glsl, .hash = "half", .interface = interface}), interface);
  const std::uint64_t bytes = pairs.size() * sizeof(Pair);
  const Buffer from = test_device().create_buffer(bytes, BufferUse::kDownload),
               to = test_device().create_buffer(bytes, BufferUse::kDownload);
  std::memcpy(from.mapped(), pairs.data(), bytes);
  CommandList list = test_device().record(
      std::vector<Step>{DispatchStep{.pipeline = &pipeline,
                                     .bindings = {{&from}, {&to}},
                                     .groups = {static_cast<std::uint32_t>(pairs.size()), 1, 1}}});
  test_device().run(list, kHalfPatience_ns);
  const auto* const words = static_cast<const std::uint32_t*>(to.mapped());
  return {words, words + pairs.size()};
}

float low(std::uint32_t word) { return from_f16(static_cast<std::uint16_t>(word)); }
float high(std::uint32_t word) { return from_f16(static_cast<std::uint16_t>(word >> 16)); }

/// Both signs of values around every limit of half precision, infinity included.
std::vector<float> edge_values() {
  const float first_infinite_below = std::nextafter(kFirstInfinite, 0.0f);
  std::vector<float> values = {0,      0x1p-14f, 0x1.554p-14f, 1,        0x1.0008p0f,
                               0.1f,   2049,     65504,        65505,    first_infinite_below,
                               65520,  65536,    70000,        84418.9f, 131039,
                               131072, 1e9f,     3e38f,        kInfinity};
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

void expect_right(float value, float got) {
  EXPECT_EQ(std::signbit(got), std::signbit(value)) << value;
  const float magnitude = std::abs(value);
  if (magnitude >= kFirstInfinite) {
    EXPECT_EQ(got, std::copysign(kInfinity, value)) << value;
  } else if (magnitude > 65504) {  // Vulkan leaves the rounding direction undefined.
    EXPECT_GE(std::abs(got), 65504) << value;
  } else {
    EXPECT_LE(std::abs(got - value), 0x1p-10f * magnitude) << value;
  }
}

TEST(HalfPrecisionOfC, MagnitudesBeyondTheRangeAreInfiniteInBothHalvesOfAWord) {
  std::vector<Pair> pairs;
  for (float value : edge_values()) pairs.insert(pairs.end(), {{value, 1}, {1, value}});
  const std::vector<std::uint32_t> words = converted(narrow_f16(), pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    expect_right(pairs[i].x, low(words[i]));
    expect_right(pairs[i].y, high(words[i]));
  }
}

TEST(HalfPrecisionOfC, NanStaysNanAndLeavesTheOtherHalfAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint32_t> words = converted(narrow_f16(), {{nan, 2}, {2, nan}});
  EXPECT_TRUE(std::isnan(low(words[0])));
  EXPECT_EQ(high(words[0]), 2);
  EXPECT_EQ(low(words[1]), 2);
  EXPECT_TRUE(std::isnan(high(words[1])));
}

/// Vulkan rounds a finite value beyond the range to 65504 or to infinity, and keeps infinity. The
/// test shows that the plain instruction is not sufficient for results.
TEST(HalfPrecisionOfC, OnlySwiftShadersConversionGivesNanOrChangesTheOtherHalf) {
  const std::vector<std::uint32_t> words =
      converted("uint narrow_c(vec2 x) { return packHalf2x16(x); }",
                {{65536, 1}, {70000, 1}, {1e9f, 1}, {kInfinity, 1}, {-70000, 1}, {-kInfinity, 1}});
  const bool wrong = std::any_of(words.begin(), words.end(), [](std::uint32_t word) {
    return std::isnan(low(word)) || high(word) != 1;
  });
  const std::string& driver = test_device().profile().driver_name;
  EXPECT_EQ(wrong, driver == "SwiftShader driver")
      << driver << ": docs/systems.md says which drivers have this defect";
}

}  // namespace
}  // namespace rooftile
