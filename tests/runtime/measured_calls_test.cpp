// Repeated calls move to the host tier that is faster in measurements, unless measuring is
// disabled.
#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/support/c_api_fixture.h"
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
    const Enumeration found = enumerate_devices();
    ASSERT_FALSE(found.devices.empty()) << found.note;
    const double gflops = flops(large_.problem) / 10e3;
    Calibration calibration = fast_host();
    calibration.host = {.call_ns = 100, .gbps = 1e6, .gemm = {{64, 64, 64, gflops}}};
    calibration.host1 = {.call_ns = 100, .gbps = 1e6, .gemm = {{64, 64, 64, gflops / 1.2}}};
    write_test_database(folder_ / "tuned.db", found.devices.front(), {fallback_variant()}, {}, {},
                        calibration);
  }

  /// Makes some calls and returns the decision of the last one.
  rooftile_decision last_of_some(rooftile_options options = {}) {
    const std::string database = (folder_ / "tuned.db").string();
    options.struct_size = sizeof options;
    options.database_path = database.c_str();
    rooftile_context* context = nullptr;
    EXPECT_EQ(rooftile_open(&options, &context), ROOFTILE_OK) << rooftile_last_error();
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
  first_reason_ = ROOFTILE_REASON_FORCED;
  stays({.tier = ROOFTILE_TIER_HOST});
}

}  // namespace
}  // namespace rooftile
