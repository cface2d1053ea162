// Online tier selection for repeated calls, with a device: calls leave the device if the host is
// faster, and find it if its predicted time is close to the host's.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/faults_fixture.h"

namespace rooftile {
namespace {

// A submission takes at least some 20 us on these machines, and no host computes the GEMM in half
// of this.
constexpr double kDeviceNs = 6e3;

Problem with_gelu(Problem p) {
  p.epilogue.activation = Activation::kGeluErf;
  return p;
}

class MeasuredDevice : public Faults {
 protected:
  /// Opens a context with predictions of kDeviceNs for the device and host_ns for the host.
  std::unique_ptr<Context> open(double host_ns, MeasureCalls measure_calls = MeasureCalls::kYes) {
    Calibration calibration = fast_host();
    calibration.device.submit_ns = kDeviceNs - 2e3;
    calibration.device.upload_gbps = calibration.device.download_gbps = 1e6;
    calibration.host.gbps = 1e6;
    const double gflops = flops(product_.problem) / host_ns;
    calibration.host.gemm = {{64, 64, 64, gflops}};
    // One thread takes no part in the selection, however slow the machine is.
    calibration.host1 = {};
    std::filesystem::remove(database_);
    write_test_database(database_, device_, {fallback_variant()}, product_.problem.epilogue, {},
                        calibration, 2e3);
    ContextOptions options = this->options();
    options.measure_calls = measure_calls;
    auto context = std::make_unique<Context>(options);
    EXPECT_NEAR(context->decide(product_.problem).device_ns, kDeviceNs, 100);
    EXPECT_NEAR(context->decide(product_.problem).best_host_ns, host_ns, 100);
    return context;
  }

  Answer multiply(Context& context, TierChoice choice = TierChoice::kAuto) {
    context.gemm(call_of(product_, choice));
    return context.last_answer().value();
  }
  /// Repeats the call until the device is probed, and returns the answer of that call.
  Answer first_probe(Context& context) {
    for (int call = 0; call < 5000; ++call)
      if (const Answer answer = multiply(context); answer.reason != Reason::kPredicted)
        return answer;
    return context.last_answer().value();
  }

  Product product_{with_gelu(packed_problem(64, 64, 64))};
};

TEST_F(MeasuredDevice, CallsLeaveADeviceSlowerThanTheHostsPrediction) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  const std::string said = said_by([&] {
    const auto context = open(1.2 * kDeviceNs);
    // The first call is not counted.
    for (int call = 0; call < 3; ++call)
      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
    expect(multiply(*context), Tier::kHost, Reason::kMeasured);
  });
  product_.expect_right();
  EXPECT_THAT(said,
              ::testing::HasSubstr("64x64x64 nn gelu_erf f32: host from now on, device takes "));
  EXPECT_THAT(said, ::testing::HasSubstr(", host is predicted 7.2 us"));
}

TEST_F(MeasuredDevice, IsKeptWithoutMeasurement) {
  const auto context = open(1.2 * kDeviceNs, MeasureCalls::kNo);
  for (int call = 0; call < 10; ++call)
    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
}

TEST_F(MeasuredDevice, IsProbedWhereItIsOpenAndPredictedNearlyAsFast) {
  const auto context = open(0.9 * kDeviceNs);
  expect(multiply(*context, TierChoice::kDevice), Tier::kDevice, Reason::kForced);
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  expect(first_probe(*context), Tier::kDevice, Reason::kMeasured);
  product_.expect_right();
}

TEST_F(MeasuredDevice, IsNotProbedAgainAfterAFailureThatTheHostAnswers) {
  const auto context = open(0.9 * kDeviceNs);
  multiply(*context, TierChoice::kDevice);
  const std::string said = said_by([&] {
    FaultyDriver::fail(FaultyDriver::Call::kSubmit, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    expect(first_probe(*context), Tier::kHost, Reason::kFailed);
  });
  EXPECT_THAT(said, ::testing::HasSubstr("no memory"));
  product_.expect_right();
  FaultyDriver::heal();
  for (int call = 0; call < 5000; ++call)
    expect(multiply(*context), Tier::kHost, Reason::kPredicted);
}

TEST_F(MeasuredDevice, IsNotOpenedForProbing) {
  const auto context = open(0.9 * kDeviceNs);
  for (int call = 0; call < 5000; ++call) ASSERT_EQ(multiply(*context).tier, Tier::kHost);
  EXPECT_FALSE(context->device_state().opened);
}

TEST_F(MeasuredDevice, IsNotProbedWherePredictedFarSlower) {
  const auto context = open(0.6 * kDeviceNs);
  multiply(*context, TierChoice::kDevice);
  for (int call = 0; call < 5000; ++call) ASSERT_EQ(multiply(*context).tier, Tier::kHost);
}

}  // namespace
}  // namespace rooftile
