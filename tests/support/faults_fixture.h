// A context over a driver that fails on command (docs/faults.md): calls with checked results, and
// their messages on stderr.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "runtime/kernel/shader_cache.h"
#include "tests/support/call_of.h"
#include "tests/support/changed_shader.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faulty_driver.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {

/// Returns what body prints on stderr.
inline std::string said_by(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  try {
    body();
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  return testing::internal::GetCapturedStderr();
}

inline void expect_one_line(const std::string& said, const std::string& text) {
  EXPECT_THAT(said, ::testing::HasSubstr(text));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

/// A host that is so slow that the device is always predicted to be faster, and guards cost
/// nothing.
inline Calibration no_host() {
  Calibration calibration = slow_host();
  for (HostRates* host : {&calibration.host, &calibration.host1})
    host->call_ns = 1e12, host->gbps = 1000;
  return calibration;
}

/// Fixture with two tuned kernels and a driver without faults until a test injects one.
class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    plant({fast_kernel(device_), fallback_variant()});
  }
  void TearDown() override { FaultyDriver::heal(); }

  void plant(const std::vector<Variant>& ranked) const { plant(database_, device_, ranked); }
  static void plant(const std::filesystem::path& file, const DeviceProfile& device,
                    const std::vector<Variant>& ranked, double kernel_ns = 1e5) {
    std::filesystem::remove(file);
    write_test_database(file, device, ranked, {}, {}, no_host(), kernel_ns);
  }
  /// Opens a context whose calls wait for their kernels, so that the failing call is known.
  ContextOptions options() const {
    return {
        .database = database_, .cache_folder = cache_, .while_compiling = WhileCompiling::kWait};
  }
  std::unique_ptr<Context> open() const { return std::make_unique<Context>(options()); }

  /// Runs the call, checks its result and returns how it was answered.
  static Answer multiply(Context& context, const Problem& p, const Guard& guard = {}) {
    Product product(p);
    GemmCall call = call_of(product);
    call.guard = guard;
    context.gemm(call);
    product.expect_right();
    return context.last_answer().value();
  }
  Answer multiply(Context& context, const Guard& guard = {}) const {
    return multiply(context, problem_, guard);
  }
  static void expect(const Answer& answer, Tier tier, Reason reason) {
    EXPECT_EQ(answer.tier, tier);
    EXPECT_EQ(answer.reason, reason);
  }
  void expect_forced_device_fails(Context& context, const std::string& why) const {
    Product product(problem_);
    try {
      context.gemm(call_of(product, TierChoice::kDevice));
      FAIL() << "a device that is gone answered";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(why));
    }
    EXPECT_TRUE(product.c_is_untouched());
  }
  /// Runs a call in a new context, which must not see a fault.
  void expect_sound_again() const {
    FaultyDriver::heal();
    EXPECT_THAT(said_by([&] { expect(multiply(*open()), Tier::kDevice, Reason::kPredicted); }),
                ::testing::IsEmpty());
  }

  /// Runs eight calls on each of four threads concurrently.
  void multiply_by_threads(Context& context, const Guard& guard = {}) const {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) multiply(context, guard);
      });
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "tuned.db", cache_ = folder_ / "cache";
  DeviceProfile device_;
  const Problem problem_ = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f);
  const Guard checked_ = {.check_spots = true};
  // Belongs to no tuned bucket, so that its calls are counted.
  const Problem untuned_ = padded_problem(200, 130, 40, Transpose::kNo, Transpose::kNo);
};

/// Fixture in which the better of the two kernels computes wrong results.
class WrongKernel : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    // Replaces the best kernel's compiled shader by one with a slightly larger alpha.
    ShaderCache(cache_).spirv(changed(emit_gemm(fast_kernel(device_), signature_of(problem_)),
                                      "return alpha * sum + old;",
                                      "return alpha * sum * 1.01 + old;"));
  }
};

}  // namespace rooftile
