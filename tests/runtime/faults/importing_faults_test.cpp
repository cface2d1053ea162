// Faults of a device that works in the caller's memory (docs/memory.md): the call returns only
// when the device no longer uses that memory, and no other call waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "runtime/execute/device_product.h"
#include "tests/support/await.h"
#include "tests/support/blocked_threads.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/gate.h"
#include "tests/support/pages.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using DriverCall = FaultyDriver::Call;

class ImportingFaults : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    if (device_.limits.host_import_alignment_bytes == 0)
      GTEST_SKIP() << device_.name << " cannot import host memory";
    write_importing_database(device_);
  }
  void write_importing_database(const DeviceProfile& device) const {
    Calibration calibration = no_host();
    calibration.device.upload_gbps = calibration.device.download_gbps = 1e-3;
    calibration.device.import_ns = 1;
    calibration.device.import_upload_gbps = calibration.device.import_download_gbps = 1;
    std::filesystem::remove(database_);
    write_test_database(database_, device, {fast_kernel(device), fallback_variant()}, {}, {},
                        calibration);
  }
  Answer multiply_there(Context& context) const {
    const std::uint64_t before = context.device_state().imports;
    Product product(whole_);
    InPages operands(product);
    context.gemm(operands.call(TierChoice::kAuto));
    operands.take_c();
    product.expect_right();
    const Answer answer = context.last_answer().value();
    EXPECT_EQ(context.device_state().imports, before + 3);
    return answer;
  }

  const Problem whole_ = packed_problem(64, 48, 80);
};

TEST_F(ImportingFaults, NothingIsImportedForLongerThanACall) {
  const auto context = open();
  multiply_there(*context);
  const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
  multiply_there(*context);
  EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes);
}

TEST_F(ImportingFaults, TheHostAnswersInTheCallersMemoryAfterALoss) {
  const auto context = open();
  multiply_there(*context);
  const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply_there(*context), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context, whole_), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
  EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes);
}

/// Each test runs in a process of its own, since a device that is given up leaks its objects.
class ImportingFaultsDeathTest : public ImportingFaults {
 protected:
  void SetUp() override {
    ImportingFaults::SetUp();
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  /// Runs body and exits with status 0 if all checks in it pass.
  [[noreturn]] void alone(const std::function<void()>& body) const {
    ::alarm(100);  // Turns a hang of this test into a failure.
    body();
    std::_Exit(cleaned_up());
  }
  /// Removes the temporary folder and returns the exit status.
  int cleaned_up() const {
    std::filesystem::remove_all(folder_.path());
    // The failures of this process are not printed otherwise.
    const testing::TestResult& result =
        *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result.total_part_count(); ++i)
      if (result.GetTestPartResult(i).failed())
        std::fprintf(stderr, "line %d: %s\n", result.GetTestPartResult(i).line_number(),
                     result.GetTestPartResult(i).message());
    return HasFailure() ? 1 : 0;
  }

  /// Makes a call in a thread of its own.
  class Caller {
   public:
    Caller(Context& context, const Problem& p, TierChoice tier = TierChoice::kAuto)
        : product_(p),
          operands_(product_),
          answer_(std::async(std::launch::async, [this, &context, tier]() -> std::optional<Answer> {
            try {
              context.gemm(operands_.call(tier));
            } catch (const Error& error) {
              error_ = error.what();
              return std::nullopt;
            }
            operands_.take_c();
            product_.expect_right();
            return context.last_answer();
          })) {}

    bool is_waiting() const {
      return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
    }
    /// Returns null if the call fails with an error, or if it does not end within a minute, which
    /// fails the test.
    std::optional<Answer> answer() {
      if (answer_.wait_for(std::chrono::minutes(1)) == std::future_status::ready)
        return answer_.get();
      ADD_FAILURE() << "the call still waits";
      return std::nullopt;
    }
    const std::string& error() const { return error_; }  // valid after answer()
    /// Fills C with NaN, as a device may do until its work has ended.
    void spoil_c() {
      const Problem& p = product_.problem;
      for (std::int64_t row = 0; row < p.m; ++row)
        std::fill_n(reinterpret_cast<float*>(operands_.c()) + row * p.ldc, p.n,
                    std::numeric_limits<float>::quiet_NaN());
    }

   private:
    Product product_;
    InPages operands_;
    std::string error_;
    std::future<std::optional<Answer>> answer_;
  };
  static void expect(const std::optional<Answer>& answer, Tier tier, Reason reason) {
    ASSERT_TRUE(answer);
    Faults::expect(*answer, tier, reason);
  }
};

TEST_F(ImportingFaultsDeathTest, ACallWithImportedMemoryWaitsForAHangToEndAndTheHostAnswers) {
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                multiply_there(*context);
                const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
                expect_one_line(
                    said_by([&] {
                      FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                      expect(multiply_there(*context), Tier::kHost, Reason::kFailed);
                      EXPECT_EQ(FaultyDriver::waited_in_vain_ns(), 10e9);
                      EXPECT_EQ(FaultyDriver::calls(DriverCall::kOutlast), 1);
                      FaultyDriver::heal();
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                    }),
                    "not used any more; the call whose memory it uses still waits for it;");
                EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes) << "some imports are left";
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, OtherCallsDoNotWaitForADeviceThatHangs) {
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                multiply_there(*context);
                const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::hold_next(DriverCall::kWait);
                Caller owner(*context, whole_);
                FaultyDriver::await_held();
                Caller in_line(*context, whole_);
                EXPECT_TRUE(await_all_asleep());
                EXPECT_TRUE(in_line.is_waiting());
                // The message is printed before the wait without timeout begins.
                expect_one_line(said_by([&] {
                                  FaultyDriver::release(DriverCall::kOutlast);
                                  FaultyDriver::await_held();
                                }),
                                "the device is not used any more");
                EXPECT_THAT(said_by([&] {
                              expect(in_line.answer(), Tier::kHost, Reason::kFailed);
                              for (int call = 0; call < 3; ++call)
                                expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                              expect_forced_device_fails(*context,
                                                         "the device is not used any more");
                              EXPECT_TRUE(owner.is_waiting());
                              EXPECT_GT(FaultyDriver::memory_in_use(), held_bytes);
                              owner.spoil_c();
                              FaultyDriver::release();
                              expect(owner.answer(), Tier::kHost, Reason::kFailed);
                            }),
                            IsEmpty());
                EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes) << "some imports are left";
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, OtherCallsDoNotWaitForSlicesThatHang) {
  DeviceProfile small = device_;
  small.limits.max_storage_buffer_range_bytes = 64 << 10;
  write_importing_database(small);
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                const Problem large = packed_problem(300, 60, 100);  // A has 120,000 bytes.
                expect(multiply(*context, large), Tier::kDevice, Reason::kPredicted);
                const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::hold_next(DriverCall::kWait);
                expect_one_line(said_by([&] {
                                  Caller owner(*context, large);
                                  FaultyDriver::await_held();
                                  Caller in_line(*context, whole_);
                                  EXPECT_TRUE(await_all_asleep());
                                  EXPECT_TRUE(in_line.is_waiting());
                                  FaultyDriver::release(DriverCall::kOutlast);
                                  FaultyDriver::await_held();
                                  expect(in_line.answer(), Tier::kHost, Reason::kFailed);
                                  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                                  EXPECT_TRUE(owner.is_waiting());
                                  owner.spoil_c();
                                  FaultyDriver::release();
                                  expect(owner.answer(), Tier::kHost, Reason::kFailed);
                                }),
                                "the device is not used any more");
                EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes) << "some imports are left";
              }),
              testing::ExitedWithCode(0), "");
}

// When no quick kernel runs, the best kernel is warmed up; here a quick kernel runs without end.
TEST_F(ImportingFaultsDeathTest, CallsDoNotWaitForAKernelWhoseCompilationAHangBlocks) {
  EXPECT_EXIT(alone([&] {
                // This handler runs last, before a sanitizer reports what such a device leaks.
                static int status = 1;
                std::atexit([] { std::_Exit(status); });
                const int compiled = FaultyDriver::calls(DriverCall::kCompile);
                Gate gate(cache_, fast_kernel(device_));
                Context context({.database = database_, .cache_folder = cache_});
                Caller first(context, whole_, TierChoice::kDevice);
                // The quick kernel computes this call.
                expect(first.answer(), Tier::kDevice, Reason::kForced);
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::hold_next(DriverCall::kWait);
                Caller owner(context, whole_);
                FaultyDriver::await_held();
                EXPECT_TRUE(gate.open());
                // These are the quick kernel, the best one, and the two that pack its A and B.
                EXPECT_TRUE(await("four kernels are compiled", [&] {
                  return FaultyDriver::calls(DriverCall::kCompile) >= compiled + 4;
                }));
                EXPECT_TRUE(await_all_asleep());
                Caller for_kernel(context, whole_, TierChoice::kDevice);
                EXPECT_TRUE(await_all_asleep());
                EXPECT_TRUE(for_kernel.is_waiting());
                FaultyDriver::release(DriverCall::kOutlast);
                FaultyDriver::await_held();
                EXPECT_FALSE(for_kernel.answer());
                EXPECT_THAT(for_kernel.error(), HasSubstr("the device is not used any more"));
                // The end of the program does not wait for the compiler, either.
                EXPECT_TRUE(owner.is_waiting());
                status = cleaned_up();
                std::exit(status);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, CallsDoNotWaitForTheCompilerOfADeviceThatHangs) {
  EXPECT_EXIT(alone([&] {
                const Problem ready = packed_problem(64, 48, 80, Transpose::kNo, Transpose::kYes);
                Gate gate(cache_, fast_kernel(device_));
                const auto context = open();
                expect(multiply(*context, ready), Tier::kDevice, Reason::kPredicted);
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::hold_next(DriverCall::kWait);
                Caller owner(*context, ready);
                FaultyDriver::await_held();
                Caller compiling(*context, whole_);
                gate.meet();
                Caller for_kernel(*context, whole_);
                EXPECT_TRUE(await_all_asleep());
                EXPECT_TRUE(for_kernel.is_waiting());
                FaultyDriver::release(DriverCall::kOutlast);
                FaultyDriver::await_held();
                expect(for_kernel.answer(), Tier::kHost, Reason::kFailed);
                EXPECT_TRUE(compiling.is_waiting());
                EXPECT_TRUE(gate.open());
                expect(compiling.answer(), Tier::kHost, Reason::kFailed);
                EXPECT_TRUE(owner.is_waiting());
                FaultyDriver::release();
                expect(owner.answer(), Tier::kHost, Reason::kFailed);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, ACallWithImportedMemoryWaitsForADeviceReportedLost) {
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                multiply_there(*context);
                const std::uint64_t held_bytes = FaultyDriver::memory_in_use();
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::fail(DriverCall::kOutlast, VK_ERROR_DEVICE_LOST);
                expect_one_line(said_by([&] {
                                  expect(multiply_there(*context), Tier::kHost, Reason::kFailed);
                                  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                                }),
                                "the device is not used any more");
                EXPECT_EQ(FaultyDriver::failed(DriverCall::kOutlast), 1);
                EXPECT_EQ(FaultyDriver::memory_in_use(), held_bytes) << "some imports are left";
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, AWaitWithAnInconclusiveErrorIsRepeated) {
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                multiply_there(*context);
                FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                FaultyDriver::fail_once(DriverCall::kOutlast, VK_ERROR_OUT_OF_HOST_MEMORY);
                expect(multiply_there(*context), Tier::kHost, Reason::kFailed);
                EXPECT_EQ(FaultyDriver::failed(DriverCall::kOutlast), 1);
                EXPECT_EQ(FaultyDriver::calls(DriverCall::kOutlast), 2);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, AnAbandonedCallStopsUsingADeviceThatHangs) {
  EXPECT_EXIT(alone([&] {
                const std::shared_ptr<Device> device = Device::open(device_);
                BufferPool pool(device);
                const auto kernel = std::make_shared<const Kernel>(
                    device, fallback_variant(), Signature{}, ShaderCache(cache_));
                const DeviceRates rates = {
                    .upload_gbps = 1e-3, .download_gbps = 1e-3, .import_ns = 1};
                std::atomic<std::uint64_t> imports = 0;
                Product product(whole_);
                InPages operands(product);
                {
                  DeviceProduct left({device, device->profile(), rates, pool, imports}, kernel, 1e5,
                                     operands.call(TierChoice::kAuto));
                  left.read_c();
                  left.submit();
                  EXPECT_TRUE(left.must_wait_for_device());
                  FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                }
                EXPECT_GT(imports, 0u);
                EXPECT_TRUE(device->lost());
                EXPECT_EQ(FaultyDriver::calls(DriverCall::kOutlast), 1);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ImportingFaultsDeathTest, AForcedCallReportsWhatItWaitsForAndReturnsTheError) {
  EXPECT_EXIT(alone([&] {
                const auto context = open();
                multiply_there(*context);
                Problem p = whole_;
                p.beta = 0.5f;  // With beta != 0 only the host writes C.
                Product product(p);
                InPages operands(product);
                expect_one_line(said_by([&] {
                                  FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                                  EXPECT_EQ(code_of([&] {
                                              context->gemm(operands.call(TierChoice::kDevice));
                                            }),
                                            ErrorCode::kTimeout);
                                }),
                                "the call whose memory it uses still waits");
                operands.take_c();
                EXPECT_TRUE(product.c_is_untouched());
              }),
              testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rooftile
