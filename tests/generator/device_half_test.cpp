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

constexpr double kPatience_ns = 60e9;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Rounding to nearest takes everything from here on to infinity: half way from 65504 to 2^16.
constexpr float kFirstInfinite = 65520;

std::string template_text(std::string_view file) {
  for (const EmbeddedText& text : embedded_templates())
    if (text.name == file) return std::string(text.text);
  throw std::runtime_error(fmt::format("there is no template {}", file));
}

/// The low halves of convert(vec2(x, 0)), where `convert` is defined by GLSL text.
std::vector<std::uint16_t> converted(const std::string& convert, const std::vector<float>& x) {
  const std::string glsl = fmt::format(
      "#version 450\n{}\n"
      "layout(local_size_x = 1) in;\n"
      "layout(binding = 0, std430) readonly buffer X {{ float x[]; }};\n"
      "layout(binding = 1, std430) writeonly buffer Y {{ uint y[]; }};\n"
      "void main() {{ y[gl_WorkGroupID.x] = narrow_c(vec2(x[gl_WorkGroupID.x], 0)); }}\n",
      convert);
  const ShaderInterface interface = {
      .bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer}};
  const Pipeline pipeline = test_device().create_pipeline(
      compile({.glsl = glsl, .hash = "half", .interface = interface}), interface);
  const std::uint64_t bytes = x.size() * sizeof(float);
  const Buffer from = test_device().create_buffer(bytes, BufferUse::kDownload),
               to = test_device().create_buffer(bytes, BufferUse::kDownload);
  std::memcpy(from.mapped(), x.data(), bytes);
  CommandList list = test_device().record(
      std::vector<Step>{DispatchStep{.pipeline = &pipeline,
                                     .bindings = {{&from}, {&to}},
                                     .groups = {static_cast<std::uint32_t>(x.size()), 1, 1}}});
  test_device().run(list, kPatience_ns);
  const auto* const words = static_cast<const std::uint32_t*>(to.mapped());
  std::vector<std::uint16_t> halves(words, words + x.size());
  return halves;
}

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

TEST(HalfPrecisionOfC, MagnitudesBeyondTheRangeAreInfiniteAndNothingBecomesNan) {
  const std::vector<float> values = edge_values();
  const std::vector<std::uint16_t> halves = converted(template_text("narrow_f16.glsl"), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float got = from_f16(halves[i]), magnitude = std::abs(values[i]);
    EXPECT_EQ(std::signbit(got), std::signbit(values[i])) << values[i];
    if (magnitude >= kFirstInfinite) {
      EXPECT_EQ(got, std::copysign(kInfinity, values[i])) << values[i];
    } else if (magnitude > 65504) {  // Vulkan leaves the direction of rounding open
      EXPECT_GE(std::abs(got), 65504) << values[i];
    } else {
      EXPECT_LE(std::abs(got - values[i]), 0x1p-10f * magnitude) << values[i];
    }
  }
  EXPECT_TRUE(
      std::isnan(from_f16(converted(template_text("narrow_f16.glsl"), {std::nanf("")}).front())));
}

/// Vulkan rounds a finite value beyond the range to 65504 or to infinity, and keeps infinity. This
/// shows that the instruction alone is no conversion that results can rely on.
TEST(HalfPrecisionOfC, OnlySwiftShaderTurnsValuesBeyondTheRangeIntoNan) {
  const std::vector<float> values = {65536, 70000, 1e9f, kInfinity, -70000, -kInfinity};
  const std::vector<std::uint16_t> halves =
      converted("uint narrow_c(vec2 x) { return packHalf2x16(x); }", values);
  const bool has_nan = std::any_of(halves.begin(), halves.end(),
                                   [](std::uint16_t x) { return std::isnan(from_f16(x)); });
  const std::string& driver = test_device().profile().driver_name;
  EXPECT_TRUE(!has_nan || driver == "SwiftShader driver")
      << driver << " has SwiftShader's defect as well: name it in docs/drivers.md";
}

}  // namespace
}  // namespace rooftile
