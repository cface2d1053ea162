#include "runtime/tuned/quick_kernel.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "generator/compiler_work.h"
#include "generator/space.h"

namespace rooftile {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr Progress kNone = Progress::kNone, kReady = Progress::kReady, kFailed = Progress::kFailed;

Variant registers(int reg_m, int reg_n) {
  return {.family = Family::kRegister,
          .tile_m = 64,
          .tile_n = 64,
          .reg_m = reg_m,
          .reg_n = reg_n,
          .vector_width_b = 4,
          .unroll_k = 8};
}

/// A list of kernels with their expected times, best first.
class QuickKernel : public ::testing::Test {
 protected:
  void add(const Variant& variant, double expected_ns, Progress progress = kNone) {
    variants_.push_back({.variant = variant});
    expected_ns_.push_back(expected_ns);
    progress_.push_back(progress);
  }
  std::optional<std::size_t> chosen(double margin_ns = kAny) const {
    std::vector<RankedChoice> ranked;
    for (std::size_t i = 0; i < variants_.size(); ++i)
      ranked.push_back({&variants_[i], expected_ns_[i]});
    return quick_kernel(ranked, progress_, Signature{}, margin_ns);
  }

  const Variant large_ = registers(32, 16), half_ = registers(16, 16), small_ = registers(8, 4);

 private:
  std::vector<CandidateRecord> variants_;
  std::vector<double> expected_ns_;
  std::vector<Progress> progress_;
};

TEST_F(QuickKernel, IsTheOneThatAnswersFirst) {
  ASSERT_GT(compiler_work(large_, {}), 2 * compiler_work(small_, {}));
  add(large_, 5e6);
  add(small_, 7e6);              // takes some 20 ms to compile
  add(registers(8, 8), 6e6);     // takes slightly longer
  add(fallback_variant(), 9e7);  // needs no compilation, but is slow
  EXPECT_EQ(chosen(), 1);
}

TEST_F(QuickKernel, MayBeSlowWhereProductsAreSmall) {
  add(large_, 5e4);
  add(small_, 7e4);
  add(fallback_variant(), 9e5);
  EXPECT_EQ(chosen(), 2);
}

TEST_F(QuickKernel, IsNotUsedWhereTheBestOneIsHardlyLater) {
  add(small_, 5e6);
  add(registers(4, 8), 5e6);
  EXPECT_EQ(chosen(), std::nullopt);
}

TEST_F(QuickKernel, IsNotUsedWhereTheCallTakesLongerThanTheCompiler) {
  add(large_, 1e9);
  add(small_, 1.2e9);
  EXPECT_EQ(chosen(), std::nullopt);
}

TEST_F(QuickKernel, NeedsASecondKernel) {
  EXPECT_EQ(chosen(), std::nullopt);
  add(large_, 5e6);
  EXPECT_EQ(chosen(), std::nullopt);
}

TEST_F(QuickKernel, KeepsToTheMargin) {
  add(large_, 5e6);
  add(small_, 7e6);
  EXPECT_EQ(chosen(2.1e6), 1);
  EXPECT_EQ(chosen(1.9e6), std::nullopt);
}

TEST_F(QuickKernel, NeedsNoCompilerIfItIsReady) {
  add(large_, 5e6);
  add(small_, 5e6);
  add(half_, 6e6, kReady);
  EXPECT_EQ(chosen(), 2);
}

TEST_F(QuickKernel, IsNeverAFailedKernel) {
  add(large_, 5e6);
  add(small_, 5e6, kFailed);
  EXPECT_EQ(chosen(), std::nullopt);
}

TEST_F(QuickKernel, IsComparedWithTheBestThatHasNotFailed) {
  add(large_, 5e6, kFailed);
  add(small_, 5e6);
  add(registers(4, 8), 5e6);
  EXPECT_EQ(chosen(), std::nullopt);
}

}  // namespace
}  // namespace rooftile
