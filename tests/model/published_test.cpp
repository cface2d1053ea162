// Compares with published tables of intensities and break-evens: the arithmetic-intensity table
// for an RTX 4060 (15,110 GFLOP/s, 272 GB/s) and NVIDIA's GPU performance background, table 1.
#include <gtest/gtest.h>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

constexpr double kPeakGflops = 15110, kGbps = 272;
constexpr double kF16 = 2, kF32 = 4;

/// 2 m n k over the bytes of A, B and C once each.
double gemm_intensity(double m, double n, double k, double bytes_per_element) {
  return 2 * m * n * k / ((m * k + k * n + m * n) * bytes_per_element);
}

TEST(Published, IntensitiesOfSquares) {
  const struct {
    std::int64_t n;
    double intensity;
  } rows[] = {{64, 10.7}, {128, 21.3}, {256, 42.7}, {512, 85.3}, {1024, 170.7}, {2048, 341.3}};
  for (const auto& row : rows) {
    const Problem p = packed_problem(row.n, row.n, row.n);
    EXPECT_NEAR(arithmetic_intensity(p), row.intensity, 0.05) << row.n;
    const double n = static_cast<double>(row.n);
    EXPECT_DOUBLE_EQ(arithmetic_intensity(p), gemm_intensity(n, n, n, kF32));
  }
}

TEST(Published, BreakEvenAndRidge) {
  // 0.04 ms x 15,110 GFLOP/s is 604,400 thousand FLOP; the published text omits "thousand".
  EXPECT_DOUBLE_EQ(breakeven_flops(40e3, kPeakGflops) / 1e3, 604'400);
  EXPECT_NEAR(ridge_intensity(kPeakGflops, kGbps), 55.5, 0.1);
}

TEST(Published, UtilisationOfElementWiseOperationsAndProducts) {
  const auto gemm = [](double n) {
    return Operation{.flops = 2 * n * n * n, .bytes = 3 * n * n * kF32};
  };
  const struct {
    const char* name;
    Operation operation;
    double bytes, intensity, utilisation_percent;
  } rows[] = {
      {"multiply", elementwise(1e6, 1, 1, 1, kF32), 8e6, 0.125, 0.23},
      {"multiply-add", elementwise(1e6, 2, 1, 1, kF32), 8e6, 0.25, 0.45},
      {"sum", elementwise(1e6, 1, 1, 0, kF32), 4e6, 0.25, 0.45},
      {"radix sort pass", elementwise(1e6, 3, 1, 1, kF32), 8e6, 0.375, 0.68},
      {"gemm 128", gemm(128), 196'608, 21.3, 38.4},
      {"gemm 256", gemm(256), 786'432, 42.7, 76.9},
      {"gemm 512", gemm(512), 3'145'728, 85.3, 100},
      {"gemm 1024", gemm(1024), 12'582'912, 170.7, 100},
  };
  for (const auto& row : rows) {
    const double intensity = row.operation.flops / row.operation.bytes;
    EXPECT_EQ(row.operation.bytes, row.bytes) << row.name;
    EXPECT_NEAR(intensity, row.intensity, 0.05) << row.name;
    // The table rounds the intensity and the ridge before it divides, which allows 0.1 points.
    const double percent = 100 * attainable_gflops(intensity, kPeakGflops, kGbps) / kPeakGflops;
    EXPECT_NEAR(percent, row.utilisation_percent, row.utilisation_percent < 1 ? 0.006 : 0.1)
        << row.name;
  }
}

TEST(Published, LayersInHalfPrecision) {
  EXPECT_NEAR(gemm_intensity(512, 4096, 1024, kF16), 315, 0.5);
  EXPECT_NEAR(gemm_intensity(1, 4096, 1024, kF16), 1, 0.005);
  const auto intensity = [](const Operation& o) { return o.flops / o.bytes; };
  EXPECT_DOUBLE_EQ(intensity(elementwise(1e6, 1, 1, 1, kF16)), 0.25);  // ReLU: one comparison
  // 3x3 max pool at stride 1 makes nine comparisons per output; neighbours are read from the
  // cache.
  EXPECT_DOUBLE_EQ(intensity(elementwise(1e6, 9, 1, 1, kF16)), 2.25);
}

}  // namespace
}  // namespace rooftile
