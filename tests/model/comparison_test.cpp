// Operations by name, and the published comparison that is computed from them.
#include "runtime/model/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "tests/model/random_inputs.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

TEST(Comparison, RowsHaveThePublishedIntensities) {
  std::map<std::string_view, double> intensities;
  for (const ComparisonRow& row : comparison_rows()) {
    const Operation operation = operation_of(row);
    intensities[row.what] = operation.flops / operation.bytes;
  }
  const std::map<std::string_view, double> published = {
      {"element-wise multiply, 16,000 elements", 0.125},
      {"element-wise multiply, 100,000 elements", 0.125},
      {"element-wise multiply, 1M elements", 0.125},
      {"element-wise FMA, 1M elements", 0.25},
      {"reduction SUM, 1M elements", 0.25},
      {"radix sort pass, 1M elements", 0.375},
      {"ReLU activation, f16", 0.25},
      {"max pooling 3x3, stride 1, f16", 2.25},
      {"GEMM 64x64", 10.67},
      {"GEMM 128x128", 21.33},
      {"GEMM 256x256", 42.67},
      {"GEMM 512x512", 85.33},
      {"GEMM 1024x1024", 170.67},
      {"GEMM 2048x2048", 341.33},
      {"linear layer, batch 1, f16", 1.0},
      {"linear layer, batch 512, f16", 315.1}};
  for (const auto& [what, intensity] : published) {
    ASSERT_TRUE(intensities.contains(what)) << what;
    EXPECT_NEAR(intensities[what] / intensity, 1, 0.002) << what;
  }
}

TEST(Operations, AreFoundByNameAndOthersNameThem) {
  for (const OperationKind& kind : operation_kinds()) EXPECT_EQ(&parse_operation(kind.name), &kind);
  EXPECT_THAT(message_of([] { parse_operation("convolve"); }, ErrorCode::kInvalidArgument),
              testing::HasSubstr("max_pool"));
}

TEST(Operations, BytesGoWhereTheOperandsAreNot) {
  const SizedOperation add = {.kind = &parse_operation("add"), .elements = 1000};
  const OperationCall here = call_of(add, Residency::kHost, Residency::kHost);
  EXPECT_EQ(here.upload_bytes, 8000);
  EXPECT_EQ(here.download_bytes, 4000);
  EXPECT_EQ(here.fetch_bytes + here.put_bytes, 0);
  const OperationCall there = call_of(add, Residency::kDevice, Residency::kDevice);
  EXPECT_EQ(there.upload_bytes + there.download_bytes, 0);
  EXPECT_EQ(there.fetch_bytes, 8000);
  EXPECT_EQ(there.put_bytes, 4000);
}

SizedOperation random_operation() {
  const auto kinds = operation_kinds();
  return {.kind = &kinds[*rc::gen::inRange<std::size_t>(0, kinds.size())],
          .elements = std::round(log_uniform(1, 1e10)),
          .type = *rc::gen::element(DataType::kF32, DataType::kF16)};
}

RC_GTEST_PROP(Operations, FactorsExplainTheScore, ()) {
  const Decision d =
      decide_operation(call_of(random_operation(), random_residency(), random_residency()),
                       DispatchModel(random_calibration(), DeviceKind::kDiscrete, {}));
  double product = 1, sum_ns = 0;
  for (const Factor& factor : d.factors) product *= factor.value, sum_ns += factor.ns;
  RC_ASSERT(d.veto_name == Veto::kNone);
  RC_ASSERT(std::abs(product / d.score - 1) < 1e-9);
  RC_ASSERT(std::abs(d.score - d.best_host_ns / d.device_ns) <= 1e-9 * d.score);
  RC_ASSERT(std::abs(sum_ns - (d.device_ns - d.best_host_ns)) <=
            1e-9 * (d.device_ns + d.best_host_ns));
  RC_ASSERT((d.tier == Tier::kDevice) == (d.device_ns < d.best_host_ns));
}

TEST(Operations, WithoutCalibrationTheHostAnswersAndTheVetoHasAName) {
  const OperationCall call = call_of({.kind = &parse_operation("relu"), .elements = 1e6},
                                     Residency::kHost, Residency::kHost);
  const Decision d = decide_operation(call, DispatchModel());
  EXPECT_EQ(d.tier, Tier::kHost);
  EXPECT_EQ(d.veto_name, Veto::kDeviceNotCalibrated);
  EXPECT_EQ(d.score, 0);
}

}  // namespace
}  // namespace rooftile
