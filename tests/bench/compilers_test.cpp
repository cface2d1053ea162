#include "bench/contests/compilers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/contests/kernel_turn.h"
#include "core/error.h"
#include "runtime/kernel/staging.h"
#include "tests/support/blocked_threads.h"
#include "tests/support/faulty_driver.h"
#include "tests/support/first_device.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using DriverCall = FaultyDriver::Call;

class CompilersTest : public ::testing::Test {
 protected:
  void TearDown() override {
    FaultyDriver::heal();
    EXPECT_TRUE(await_all_asleep()) << "nothing waits for the threads that compile";
  }

  /// Two kernels, compiled one after the other.
  void start(Compilers& compilers) {
    for (const Variant& variant : {first_, second_}) compilers.add(variant, problem_);
    compilers.start(1);
  }
  static std::string failure(Compilers& compilers, Measurer& measurer, const Variant& variant,
                             const Problem& p) {
    return message_of([&] { compilers.provide(measurer, variant, p); });
  }
  double ns(Measurer& measurer, const Variant& variant) const {
    return ns_of(one_turn(measurer, variant, staged_problem(problem_), 0));
  }

  std::shared_ptr<Device> device_ = Device::open(first_device());
  const Problem problem_ = packed_problem(33, 17, 65, Transpose::kNo, Transpose::kYes);
  const Variant first_ = parse_variant("family=naive tile_m=8 tile_n=8"),
                second_ = parse_variant("family=naive tile_m=4 tile_n=16");
};

TEST_F(CompilersTest, AKernelThatDoesNotCompileSaysSoEachTimeAndTheNextIsMeasured) {
  FaultyDriver::fail_once(DriverCall::kCompile, VK_ERROR_UNKNOWN);
  Compilers compilers(device_);
  start(compilers);
  Measurer measurer(device_);
  const std::string why = failure(compilers, measurer, first_, problem_);
  EXPECT_NE(why, "");
  EXPECT_EQ(failure(compilers, measurer, first_, problem_), why);
  EXPECT_EQ(failure(compilers, measurer, second_, problem_), "");
  const int compiled = FaultyDriver::calls(DriverCall::kCompile);
  EXPECT_GT(ns(measurer, second_), 0);
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kCompile), compiled) << "it was compiled again";
}

TEST_F(CompilersTest, ACompilerThatDoesNotReturnIsAwaitedOnce) {
  FaultyDriver::hold_next(DriverCall::kCompile);
  Compilers compilers(device_, 0.05);
  start(compilers);
  FaultyDriver::await_held();
  Measurer measurer(device_);
  EXPECT_THAT(failure(compilers, measurer, first_, problem_), HasSubstr("within 0.05 s"));
  Compilers patient(device_);
  patient.add(second_, problem_);
  patient.start(1);
  EXPECT_EQ(failure(patient, measurer, second_, problem_), "");
  EXPECT_GT(ns(measurer, second_), 0);
  FaultyDriver::release();
  EXPECT_THAT(failure(compilers, measurer, first_, problem_), HasSubstr("within 0.05 s"))
      << "it is known to take too long";
}

TEST_F(CompilersTest, AKernelOfTheSameSignatureIsCompiledOnce) {
  Compilers compilers(device_);
  start(compilers);
  Measurer measurer(device_);
  EXPECT_EQ(failure(compilers, measurer, first_, problem_), "");
  EXPECT_EQ(failure(compilers, measurer, second_, problem_), "");
  const int compiled = FaultyDriver::calls(DriverCall::kCompile);
  const Problem other = packed_problem(20, 37, 9, Transpose::kNo, Transpose::kYes);
  compilers.add(first_, other);
  compilers.start(1);
  EXPECT_EQ(failure(compilers, measurer, first_, other), "");
  EXPECT_GT(ns(measurer, first_), 0);
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kCompile), compiled);
}

TEST_F(CompilersTest, AnIllegalKernelIsNotCompiled) {
  const Variant illegal = with_settings(first_, parse_settings("tile_m=4096"));
  EXPECT_TRUE(why_illegal(illegal, device_->profile().limits, problem_).has_value());
  EXPECT_FALSE(why_illegal(first_, device_->profile().limits, problem_).has_value());
  const int before = FaultyDriver::calls(DriverCall::kCompile);
  Compilers compilers(device_);
  compilers.add(illegal, problem_);
  compilers.start(1);
  Measurer measurer(device_);
  EXPECT_EQ(failure(compilers, measurer, illegal, problem_), "");
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kCompile), before);
}

}  // namespace
}  // namespace rooftile
