// Calls where nothing is tuned, and another machine has measured the device that is here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "runtime/call/plain_call.h"
#include "tests/support/await.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/forked_child.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using DriverCall = FaultyDriver::Call;

// The other machine's data predicts this time for the device. No host computes the products of
// these tests in it, so that calls move to the device once the host was measured.
constexpr double kDeviceNs = 6e3;

class ExpectedDeviceCalls : public Faults {
 protected:
  void SetUp() override {
    device_ = first_device();
    card_ = another_card(device_);
  }
  /// How the other machine has measured its host and such a device.
  static Calibration predicting(double host_ns) {
    Calibration calibration = fast_host();
    calibration.device.submit_ns = kDeviceNs - 2e3;
    calibration.device.upload_gbps = calibration.device.download_gbps = 1e6;
    calibration.device.fma_gflops = 1e6;
    calibration.device.levels = {{"memory", 1e6}};
    for (HostRates* host : {&calibration.host, &calibration.host1})
      *host = {.call_ns = host_ns, .gbps = 1e6, .gemm = {{64, 64, 64, 1e6}}};
    calibration.host1.call_ns /= 2;  // Calls must not believe that.
    return calibration;
  }
  void import_card(double host_ns) const { import_card(host_ns, fast_kernel(device_)); }
  void import_card(double host_ns, const Variant& kernel) const {
    const std::filesystem::path theirs = folder_ / "theirs.db";
    write_test_database(theirs, card_, {kernel}, product_.problem.epilogue, {}, predicting(host_ns),
                        2e3);
    Store(database_).import_from(theirs);
  }
  Answer multiply(Context& context) {
    context.gemm(call_of(product_));
    product_.expect_right();
    return context.last_answer().value();
  }
  /// Has the device found by one call, which is counted only if the search ends within it.
  void find_device(Context& context) {
    expect(multiply(context), Tier::kHost, Reason::kPredicted);
    EXPECT_TRUE(await("the device is expected", [&] { return context.expects_device(); }));
  }
  bool is_open(Context& context) { return !context.explain(call_of(product_)).device_name.empty(); }
  /// Repeats the call until the device is open.
  void open_device(Context& context) {
    EXPECT_TRUE(await("the device is open", [&] {
      expect(multiply(context), Tier::kHost, Reason::kPredicted);
      return is_open(context);
    }));
  }

  static Problem with_gelu(Problem p) {
    p.epilogue.activation = Activation::kGeluErf;
    return p;
  }
  Product product_{with_gelu(packed_problem(128, 96, 512))};
  DeviceProfile card_;
};

// One thread is predicted to take half of these.
constexpr double kWorthAtOnceNs = 3e9, kWorthForFourCallsNs = 0.6e9, kNeverWorthNs = 1e3;

TEST_F(ExpectedDeviceCalls, MoveToTheDeviceOnceTheHostIsMeasuredToBeSlower) {
  import_card(kWorthAtOnceNs);
  const auto context = open();
  open_device(*context);
  EXPECT_TRUE(await("the device answers", [&] {
    const Answer answer = multiply(*context);
    if (answer.tier != Tier::kDevice) {
      EXPECT_EQ(answer.tier, Tier::kHost);
      return false;
    }
    expect(answer, Tier::kDevice, Reason::kMeasured);
    EXPECT_EQ(*answer.kernel, fast_kernel(device_));
    return true;
  }));
}

TEST_F(ExpectedDeviceCalls, LeaveTheDeviceAgainWhereItIsMeasuredToBeSlower) {
  product_ = Product(packed_problem(128, 96, 512));
  import_card(kWorthAtOnceNs, fallback_variant());
  const auto context = open();
  for (const Tier tier : {Tier::kDevice, Tier::kHost})
    EXPECT_TRUE(await("another tier answers", [&] { return multiply(*context).tier == tier; }));
  for (int call = 0; call < 10; ++call) expect(multiply(*context), Tier::kHost, Reason::kPredicted);
}

TEST_F(ExpectedDeviceCalls, OpenTheDeviceOnceThatIsWorthIt) {
  product_ = Product(packed_problem(128, 96, 512));
  import_card(kWorthForFourCallsNs);
  const auto context = open();
  find_device(*context);
  for (int call = 0; call < 2; ++call) {
    expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    EXPECT_FALSE(is_open(*context));
  }
  // Not by the short way of repeated calls, which counts nothing.
  EXPECT_FALSE(context->gemm_again({.product = *plain_product(product_.problem),
                                    .a = product_.a.data(),
                                    .b = product_.b.data(),
                                    .c = product_.c.data()}));
  for (int call = 0; call < 2; ++call) expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  EXPECT_TRUE(await("the device is open", [&] { return is_open(*context); }));
}

TEST_F(ExpectedDeviceCalls, OpenNoDeviceForCallsThatWouldNotMoveToIt) {
  import_card(kWorthForFourCallsNs);
  const auto context = open();
  find_device(*context);
  for (int call = 0; call < 20; ++call) {
    Product product(product_.problem);
    GemmCall guarded = call_of(product);
    guarded.guard = checked_;
    context->gemm(guarded);
    product.expect_right();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(is_open(*context));
}

TEST_F(ExpectedDeviceCalls, LeaveTheDeviceClosedWhereTheHostIsPredictedToBeFaster) {
  import_card(kNeverWorthNs);
  const auto context = open();
  find_device(*context);
  for (int call = 0; call < 20; ++call) expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  EXPECT_FALSE(is_open(*context));
}

TEST_F(ExpectedDeviceCalls, OfSmallSizesLookForNoDevice) {
  product_ = Product(packed_problem(64, 64, 64));
  import_card(kWorthAtOnceNs);
  const auto context = open();
  for (int call = 0; call < 20; ++call) {
    expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(context->expects_device());
}

TEST_F(ExpectedDeviceCalls, OnManyThreadsOpenTheDeviceOnce) {
  import_card(kWorthAtOnceNs);
  const auto context = open();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Product product(product_.problem);
      for (int i = 0; i < 20; ++i) {
        context->gemm(call_of(product));
        product.expect_right();
      }
    });
  threads.clear();
  EXPECT_TRUE(await("the device is open", [&] { return is_open(*context); }));
}

TEST_F(ExpectedDeviceCalls, StayOnTheHostWhereCallsAreNotMeasured) {
  import_card(kWorthAtOnceNs);
  ContextOptions unmeasured = options(), deterministic = options();
  unmeasured.measure_calls = MeasureCalls::kNo;
  deterministic.deterministic = Deterministic::kYes;
  for (const ContextOptions& options : {unmeasured, deterministic}) {
    Context context(options);
    for (int call = 0; call < 20; ++call) {
      EXPECT_EQ(multiply(context).reason, Reason::kPredicted);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_FALSE(context.expects_device());
    EXPECT_FALSE(is_open(context));
  }
}

TEST_F(ExpectedDeviceCalls, StayOnTheHostWhereAnotherDeviceComesFirst) {
  ++card_.driver_id;
  import_card(kWorthAtOnceNs);
  const auto context = open();
  find_device(*context);
  for (int call = 0; call < 20; ++call) expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  EXPECT_FALSE(is_open(*context));
  // The prediction is of the expected device, and not of the one that a call forces.
  context->gemm(call_of(product_, TierChoice::kDevice));
  EXPECT_TRUE(is_open(*context));
  EXPECT_EQ(context->decide(product_.problem).veto_name, Veto::kDeviceNotCalibrated);
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
}

TEST_F(ExpectedDeviceCalls, GoToTheDeviceAtOnceWhereThisHostIsCalibrated) {
  import_card(kNeverWorthNs);
  Store store(database_);
  store.add_calibration(store.device_id(device_), to_figures(predicting(kWorthAtOnceNs)));
  const auto context = open();
  EXPECT_TRUE(await("the device answers", [&] {
    const Answer answer = multiply(*context);
    EXPECT_EQ(answer.reason, Reason::kPredicted);
    return answer.tier == Tier::kDevice;
  }));
}

TEST_F(ExpectedDeviceCalls, SurviveAClosedContextWhileTheDeviceIsOpened) {
  import_card(kWorthAtOnceNs);
  for (int i = 0; i < 5; ++i) multiply(*open());
}

TEST_F(ExpectedDeviceCalls, InAForkedChildStayOnTheHostWhileTheParentOpensTheDevice) {
  import_card(kWorthAtOnceNs);
  auto context = open();
  FaultyDriver::hold_next(DriverCall::kEnumerate);
  find_device(*context);
  multiply(*context);
  FaultyDriver::await_held();
  // An enumeration takes two calls. In the next one the parent's thread has locked the device.
  for (int call = 0; call < 2; ++call) {
    FaultyDriver::release(DriverCall::kEnumerate);
    FaultyDriver::await_held();
  }
  EXPECT_EQ(in_a_child([&] {
              for (int call = 0; call < 10; ++call)
                expect(multiply(*context), Tier::kHost, Reason::kPredicted);
              EXPECT_THROW(context->gemm(call_of(product_, TierChoice::kDevice)), Error);
              context = nullptr;
              return true;
            }),
            0);
  FaultyDriver::release();
}

TEST_F(ExpectedDeviceCalls, AreLogged) {
  import_card(kWorthAtOnceNs);
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  const std::string said = said_by([&] {
    const auto context = open();
    EXPECT_TRUE(
        await("the device answers", [&] { return multiply(*context).tier == Tier::kDevice; }));
  });
  for (const char* part : {"other machines have measured ", " f32: host, score ",
                           " f32: device from now on, device is predicted "})
    EXPECT_THAT(said, HasSubstr(part));
}

TEST_F(ExpectedDeviceCalls, StayOnTheHostWhereTheDeviceFails) {
  import_card(kWorthAtOnceNs);
  FaultyDriver::fail(DriverCall::kOpen, VK_ERROR_INITIALIZATION_FAILED);
  const auto context = open();
  const std::string said = said_by([&] {
    open_device(*context);
    context->wait_for_certificates();
    for (int call = 0; call < 20; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  });
  EXPECT_THAT(said, HasSubstr("is not certified on"));
}

}  // namespace
}  // namespace rooftile
