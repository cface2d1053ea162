// Batches whose matrices lie side by side in the rows of larger ones, as heads of attention do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/numbers/random.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

/// C := A * B^T + C for each of 3 heads of 7 columns, in rows of 24.
struct Heads {
  static constexpr std::int64_t kM = 5, kN = 7, kK = 11, kBatch = 3, kLdA = 34, kLdC = 24;
  std::vector<float> a = values(kM * kLdA, 1), b = values(kBatch * kN * kK, 2),
                     c_before = values(kM * kLdC, 3), c = c_before;

  static std::vector<float> values(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = random.symmetric();
    return x;
  }
  GemmCall call(TierChoice tier) {
    Problem p = packed_problem(kM, kN, kK, Transpose::kNo, Transpose::kYes, kBatch);
    p.lda = kLdA;
    p.ldc = kLdC;
    p.beta = 1;
    p.stride_a = kK;
    p.stride_c = kN;
    return {.problem = p, .a = a.data(), .b = b.data(), .c = c.data(), .tier = tier};
  }
  void expect_right() const {
    for (std::size_t i = 0; i < kM; ++i)
      for (std::size_t column = 0; column < kLdC; ++column) {
        const std::size_t head = column / kN, j = column % kN, at = i * kLdC + column;
        double sum = c_before[at], magnitude = std::abs(sum);
        if (head < kBatch)
          for (std::size_t step = 0; step < kK; ++step) {
            const double product =
                double{a[i * kLdA + head * kK + step]} * b[(head * kN + j) * kK + step];
            sum += product;
            magnitude += std::abs(product);
          }
        else
          magnitude = 0;  // Columns behind the last head stay as they are.
        constexpr double kRoundings = (kK + 3) * 0x1p-24;
        EXPECT_LE(std::abs(c[at] - sum), kRoundings / (1 - kRoundings) * magnitude)
            << "row " << i << ", column " << column;
      }
  }
};

TEST(SideBySide, EveryTierMultipliesMatricesInTheRowsOfOne) {
  const DeviceProfile device = first_device();
  const ScratchFolder folder;
  write_test_database(folder / "tuned.db", device, {fast_kernel(device), fallback_variant()});
  Context context({.database = folder / "tuned.db", .cache_folder = folder / "cache"});
  for (const TierChoice tier : {TierChoice::kAuto, TierChoice::kDevice, TierChoice::kHost,
                                TierChoice::kHost1, TierChoice::kHost64}) {
    SCOPED_TRACE(static_cast<int>(tier));
    Heads heads;
    context.gemm(heads.call(tier));
    heads.expect_right();
  }
}

TEST(SideBySide, MatricesThatReachIntoTheNextRowAreRefused) {
  const auto refused = [](std::int64_t stride, std::int64_t ldc) {
    Problem p = packed_problem(5, 7, 11, Transpose::kNo, Transpose::kNo, 3);
    p.stride_c = stride;
    p.ldc = ldc;
    EXPECT_THROW(validate(p, Layout::kRowMajor), Error) << stride << ", " << ldc;
    p = swapped_operands(p);  // In column-major order the columns have to fit.
    EXPECT_THROW(validate(p, Layout::kColumnMajor), Error) << stride << ", " << ldc;
  };
  refused(6, 24);
  refused(7, 20);
  refused(9, 24);
  refused(0, 24);
}

}  // namespace
}  // namespace rooftile
