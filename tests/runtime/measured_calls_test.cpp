// Repeated calls move to the host tier that is faster in measurements, unless measuring is
// disabled.
#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/support/c_api_fixture.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

constexpr int kCalls = 6;

class MeasuredCalls : public CApi {
 protected:
  // The calibration is far from any real machine: it predicts 10 us with all threads for a GEMM
  // that takes milliseconds, and slightly more with one thread. After two calls one thread is
  // therefore probed, whatever else runs on the machine.
  void SetUp() override {
    const double gflops = flops(large_.problem) / 10e3;
    Calibration calibration = fast_host();
    calibration.host = {.call_ns = 100, .gbps = 1e6, .gemm = {{64, 64, 64, gflops}}};
    calibration.host1 = {.call_ns = 100, .gbps = 1e6, .gemm = {{64, 64, 64, gflops / 1.2}}};
    write_test_database(folder_ / "tuned.db", first_device(), {fallback_variant()}, {}, {},
                        calibration);
  }

  /// Makes some calls and returns the decision of the last one.
  rooftile_decision last_of_some(const rooftile_options& options = {}) {
    rooftile_context* const context = opened(folder_ / "tuned.db", options);
    rooftile_sgemm_args args = args_of(large_);
    rooftile_decision decision = {.struct_size = sizeof decision};
    for (int call = 0; call < kCalls; ++call) {
      EXPECT_EQ(rooftile_sgemm(context, &args), ROOFTILE_OK) << rooftile_last_error();
      EXPECT_EQ(rooftile_last_decision(context, &decision), ROOFTILE_OK) << rooftile_last_error();
      if (call < 3) {
        EXPECT_EQ(decision.reason, first_reason_) << call;
      }
    }
    rooftile_close(context);
    large_.expect_right();
    return decision;
  }

  Product large_{padded_problem(401, 503, 402, Transpose::kNo, Transpose::kYes)};
  rooftile_reason first_reason_ = ROOFTILE_REASON_PREDICTED;
};

TEST_F(MeasuredCalls, MoveToTheFasterTier) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  testing::internal::CaptureStderr();
  const rooftile_decision decision = last_of_some();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("401x503x402 nt f32: host1 from now on, host takes "));
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST1);
  EXPECT_EQ(decision.reason, ROOFTILE_REASON_MEASURED);
  for (const auto& [variable, value] :
       {std::pair("ROOFTILE_DETERMINISTIC", "off"), std::pair("ROOFTILE_MEASURE_CALLS", "on")}) {
    const ScopedEnvironment rank("OMPI_COMM_WORLD_SIZE", "4"), overridden(variable, value);
    EXPECT_EQ(last_of_some().reason, ROOFTILE_REASON_MEASURED) << variable;
  }
  EXPECT_LT(decision.host_ns, decision.host1_ns)
      << "the decision does not hold the predicted times";
}

TEST_F(MeasuredCalls, StayOnThePredictedTierWithoutMeasurement) {
  const auto stays = [&](const rooftile_options& options) {
    const rooftile_decision decision = last_of_some(options);
    EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST);
    EXPECT_EQ(decision.reason, first_reason_);
  };
  stays({.no_measured_calls = 1});
  stays({.deterministic = 1});
  {
    const ScopedEnvironment off("ROOFTILE_MEASURE_CALLS", "off");
    stays({});
  }
  {
    const ScopedEnvironment rank("PMI_SIZE", "2");
    stays({});
  }
  first_reason_ = ROOFTILE_REASON_FORCED;
  stays({.tier = ROOFTILE_TIER_HOST});
}

/// The host's time is predicted far too short, as its copies of float16 operands may be, and the
/// device's three times as long.
TEST_F(CApi, CallsOfOtherTypesMoveToADeviceThatIsPredictedToLose) {
  const Types types = parse_types("f16_f16");
  Product product(padded_problem(201, 503, 402, Transpose::kNo, Transpose::kYes, 1, 0, types));
  Calibration calibration = fast_host();
  calibration.device.submit_ns = 1;
  calibration.device.upload_gbps = calibration.device.download_gbps = 1e6;
  const auto open = [&](const char* name) {
    write_test_database(folder_ / name, first_device(), {fast_kernel(first_device())}, {}, types,
                        calibration, 100);
    reopen({}, name);
  };
  rooftile_gemm_args args = gemm_args_of(product);
  rooftile_decision decision = {.struct_size = sizeof decision};
  open("first.db");
  ASSERT_EQ(rooftile_explain_gemm(context_, &args, &decision), ROOFTILE_OK);
  const double host_ns = decision.device_ns / 3;
  for (HostRates* host : {&calibration.host, &calibration.host1})
    *host = {.call_ns = host_ns, .gbps = 1e6, .gemm = {{64, 64, 64, 1e6}}};
  open("second.db");
  args.tier = ROOFTILE_TIER_DEVICE;  // Opens the device and compiles the kernel.
  ASSERT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  args.tier = ROOFTILE_TIER_AUTO;
  ASSERT_EQ(rooftile_explain_gemm(context_, &args, &decision), ROOFTILE_OK);
  ASSERT_NE(decision.tier, ROOFTILE_TIER_DEVICE) << decision.device_ns << " " << decision.host_ns;
  bool moved = false;
  for (int call = 0; call < 5 * kCalls && !moved; ++call) {
    ASSERT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    ASSERT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_OK);
    moved = decision.tier == ROOFTILE_TIER_DEVICE && decision.reason == ROOFTILE_REASON_MEASURED;
  }
  EXPECT_TRUE(moved) << decision.host_ns << " " << decision.device_ns;
  product.expect_right();
}

}  // namespace
}  // namespace rooftile
