#include "runtime/model/factors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

double product(const std::array<Factor, 7>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1.0,
                         [](double value, const Factor& f) { return value * f.value; });
}

double sum_ns(const std::array<Factor, 7>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 0.0,
                         [](double ns, const Factor& f) { return ns + f.ns; });
}

RC_GTEST_PROP(Factors, MultiplyToHostOverDeviceAndAddUpToTheDifference, ()) {
  const Decision d =
      decide(random_call(), random_calibration(), DeviceKind::kDiscrete, random_tuned());
  RC_ASSERT(d.veto.empty());
  const double ratio = d.best_host_ns / d.device_ns;
  RC_ASSERT(std::isfinite(ratio) && ratio > 0);
  // Seven quotients of sums of a few terms have some tens of roundings of 2^-53.
  RC_ASSERT(std::abs(product(d.factors) / ratio - 1) < 64 * 0x1p-53);
  RC_ASSERT(d.score == ratio);
  // The error is relative to the largest time in the sum, because terms may cancel.
  double largest = std::max(d.best_host_ns, d.device_ns);
  for (const Factor& f : d.factors) largest = std::max(largest, std::abs(f.ns));
  RC_ASSERT(std::abs(sum_ns(d.factors) - (d.device_ns - d.best_host_ns)) <= 64 * 0x1p-53 * largest);
}

RC_GTEST_PROP(Factors, AVetoMakesTheProductZero, ()) {
  Call call = random_call();
  call.device_veto = "no kernel supports this type";
  const Decision d = decide(call, random_calibration(), DeviceKind::kOther, random_tuned());
  RC_ASSERT(product(d.factors) == 0);
  RC_ASSERT(d.score == 0);
  RC_ASSERT(d.veto == call.device_veto);
  RC_ASSERT(d.device_ns == std::numeric_limits<double>::infinity());
  RC_ASSERT(d.tier != Tier::kDevice);
}

RC_GTEST_PROP(Factors, KeepTheirSide, ()) {
  Call call = random_call();
  call.pass_ns = 0;  // Otherwise the device makes a pass over C as well.
  const Decision d = decide(call, random_calibration(), DeviceKind::kDiscrete, random_tuned());
  const auto value = [&](std::size_t i) { return d.factors[i].value; };
  RC_ASSERT(value(0) > 0 && value(0) <= 1);  // a share of the device's time
  RC_ASSERT(value(2) >= 1 - 1e-12);          // saved transfers
  RC_ASSERT(value(4) >= 1 - 1e-12);          // passes and downloads that only the host makes
  RC_ASSERT(value(5) >= 0 && value(5) <= 1 + 1e-12);  // work that only the host skips
  RC_ASSERT(value(6) > 0 && value(6) <= 1);           // the guard costs time
}

// One device and host with round numbers, so that each factor can be computed by hand.
class ByHand : public testing::Test {
 protected:
  Calibration calibration{
      .device = {.submit_ns = 50e3,
                 .upload_gbps = 10,
                 .download_gbps = 8,
                 .fma_gflops = 10'000,
                 .levels = {{.name = "memory", .gbps = 200}}},
      .host = {.call_ns = 100, .gbps = 40, .gemm = {{512, 512, 512, 200}, {2048, 512, 512, 400}}},
      .host1 = {},
      .host64 = {}};
  Call call{.problem = packed_problem(512, 512, 512)};
  std::vector<TunedTime> tuned = {{.problem = call.problem, .ns = 100e3}};

  static constexpr double kFlops = 2.0 * 512 * 512 * 512, kBytes = 4.0 * 512 * 512;
  static constexpr double kHostDense = kFlops / 200;
  static constexpr double kTransfer = 2 * kBytes / 10 + kBytes / 8;

  Decision decision() const { return decide(call, calibration, DeviceKind::kDiscrete, tuned); }
  static double factor(const Decision& d, std::string_view name) {
    for (const Factor& f : d.factors)
      if (f.name == name) return f.value;
    ADD_FAILURE() << name;
    return 0;
  }
};

TEST_F(ByHand, EachFactorIsItsFormula) {
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.device_ns, 50e3 + kTransfer + 100e3);
  EXPECT_NEAR(d.best_host_ns, kHostDense, 1e-6 * kHostDense);
  EXPECT_DOUBLE_EQ(factor(d, "size_vs_threshold"), 100e3 / (150e3 + kTransfer));
  EXPECT_DOUBLE_EQ(factor(d, "arithmetic_intensity"), (kFlops / 400) / (kFlops / 10'000));
  EXPECT_DOUBLE_EQ(factor(d, "gpu_class"), 1);
  const double device_share = kFlops / 10'000 / 100e3, host_share = 200.0 / 400;
  EXPECT_NEAR(factor(d, "vendor_tuning"), device_share / host_share, 1e-9);
  EXPECT_EQ(factor(d, "fusion"), 1);
  EXPECT_EQ(factor(d, "sparsity"), 1);
  EXPECT_EQ(factor(d, "precision_risk"), 1);
  EXPECT_EQ(d.upload_ns, 2 * kBytes / 10);
  EXPECT_EQ(d.download_ns, kBytes / 8);
}

TEST_F(ByHand, ImportedMemorySavesStagingInTheGpuClassFactor) {
  calibration.device.import_ns = 2e3;
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.device_ns, 150e3 + 3 * 2e3);
  EXPECT_DOUBLE_EQ(factor(d, "gpu_class"), (150e3 + kTransfer) / (150e3 + 3 * 2e3));
  EXPECT_EQ(d.upload_ns, 2 * 2e3);
  EXPECT_EQ(d.download_ns, 2e3);
  EXPECT_EQ(d.transfer_paths, (TransferPaths{TransferPath::kInPlace, TransferPath::kInPlace,
                                             TransferPath::kNone, TransferPath::kInPlace}));
}

TEST_F(ByHand, SlicesTakeTheLongerOfKernelAndTransfer) {
  call.slices = 4;
  for (int part = 0; part < 4; ++part)
    call.slice_transfers =
        call.slice_transfers +
        Transfers{.in_ns = 60e3, .out_ns = 20e3, .staged_in_ns = 60e3, .staged_out_ns = 20e3};
  EXPECT_DOUBLE_EQ(decision().device_ns, 4 * 50e3 + 320e3 + 100e3);
  // Overlap hides all transfers but the first slice's upload and the last slice's download,
  // because kernels are shorter.
  calibration.device.overlap = 1;
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.overlapped_ns, 100e3 * 3 / 4);
  EXPECT_DOUBLE_EQ(d.device_ns, 4 * 50e3 + 320e3 + 100e3 / 4);
  EXPECT_DOUBLE_EQ(d.submit_ns + d.upload_ns + d.kernel_ns + d.download_ns, d.device_ns);
  EXPECT_DOUBLE_EQ(d.upload_ns, 3 * d.download_ns);
  calibration.device.overlap = 0.5;
  EXPECT_DOUBLE_EQ(decision().overlapped_ns, 100e3 * 3 / 8);
  call.slices = 1;
  EXPECT_EQ(decision().overlapped_ns, 0);
}

TEST_F(ByHand, BetaReadsCFromTheHost) {
  call.problem.beta = 1;
  EXPECT_DOUBLE_EQ(decision().upload_ns, 3 * kBytes / 10);
}

TEST_F(ByHand, FusionFactorIsTheHostsExtraPasses) {
  call.extra_passes_over_c = 2;
  EXPECT_NEAR(factor(decision(), "fusion"), (kHostDense + 2 * (2 * kBytes / 40)) / kHostDense,
              1e-9);
}

TEST_F(ByHand, APassAfterAPlainKernelCountsAgainstTheFusionFactor) {
  call.problem.epilogue = parse_epilogue("relu");
  call.extra_passes_over_c = 1;
  const Decision fused = decision();
  call.before_pass = packed_problem(512, 512, 512);
  call.pass_ns = 2 * kBytes / 40;
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.device_ns, fused.device_ns + call.pass_ns);
  EXPECT_DOUBLE_EQ(d.pass_ns, call.pass_ns);
  EXPECT_DOUBLE_EQ(d.submit_ns + d.upload_ns + d.kernel_ns + d.download_ns + d.pass_ns,
                   d.device_ns);
  EXPECT_NEAR(factor(d, "fusion"), factor(fused, "fusion") * fused.device_ns / d.device_ns, 1e-9);
  EXPECT_DOUBLE_EQ(d.factors[4].ns, 0);  // Both sides make one pass.
}

TEST_F(ByHand, APassTransfersTheTypesThatThePlainKernelComputes) {
  const Decision wide = decision();
  call.problem =
      packed_problem(512, 512, 512, Transpose::kNo, Transpose::kNo, 1, parse_types("f16"));
  call.before_pass = packed_problem(512, 512, 512);
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.upload_ns, wide.upload_ns);
  EXPECT_DOUBLE_EQ(d.kernel_ns, wide.kernel_ns);
}

TEST_F(ByHand, HostTimeIncludesFetchingResidentOperands) {
  call.a = call.c = Residency::kDevice;
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.device_ns, 150e3 + kBytes / 10);
  const double fetch = 50e3 + kBytes / 8 + 50e3 + kBytes / 10;
  EXPECT_NEAR(factor(d, "fusion"), (kHostDense + fetch) / kHostDense, 1e-9);
}

TEST_F(ByHand, AMeasuredFetchReplacesOneSubmissionInEachDirection) {
  calibration.device.fetch_ns = 70;
  call.a = call.c = Residency::kDevice;
  const Decision d = decision();
  EXPECT_DOUBLE_EQ(d.device_ns, 150e3 + kBytes / 10);  // The device still makes its own pass.
  const double down = 70 + kBytes / 8, up = 70 + kBytes / 10;
  EXPECT_NEAR(factor(d, "fusion"), (kHostDense + down + up) / kHostDense, 1e-9);
  call.problem.beta = 1;  // The host downloads C along with A.
  EXPECT_NEAR(factor(decision(), "fusion"), (kHostDense + down + kBytes / 8 + up) / kHostDense,
              1e-9);
  call.a = call.c = Residency::kHost;
  EXPECT_DOUBLE_EQ(factor(decision(), "fusion"), 1);
}

TEST_F(ByHand, PrecisionRiskIsTheGuardAndTheExpectedRerun) {
  call.guard_ns = 30e3;
  call.rerun_probability = 0.1;
  const double unguarded = 150e3 + kTransfer;
  EXPECT_NEAR(factor(decision(), "precision_risk"),
              unguarded / (unguarded + 30e3 + 0.1 * kHostDense), 1e-9);
}

}  // namespace
}  // namespace rooftile
