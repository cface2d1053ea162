// A context on a device that is predicted to be faster than the host.
#pragma once

#include <gtest/gtest.h>

#include "runtime/device/device.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {

class GuardedContext : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    Calibration calibration = slow_host();
    // The guard reads the operands once more, which costs next to nothing with these rates.
    calibration.host.gbps = calibration.host1.gbps = 1000;
    calibration_ = calibration;
    tune({});
  }

  void tune(const Types& types) {
    write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_), fallback_variant()},
                        {}, types, calibration_,
                        types.rounding == Rounding::kNone ? kKernelNs : 0.9 * kKernelNs);
  }
  static constexpr double kKernelNs = 1e5;

  /// The context is deterministic: it waits for its kernels and certifies none on demand.
  ContextOptions options() const {
    return {.database = folder_ / "tuned.db",
            .cache_folder = folder_ / "cache",
            .deterministic = Deterministic::kYes};
  }

  static Answer run(Context& context, Product& product, const Guard& guard) {
    GemmCall call = call_of(product);
    call.guard = guard;
    context.gemm(call);
    return context.last_answer().value();
  }

  ScratchFolder folder_;
  DeviceProfile device_;
  Calibration calibration_;
  Problem problem_ = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f);
};

/// Expects every element to be the float64 sum, rounded once.
inline void expect_float64(const Product& product) {
  const Problem& p = product.problem;
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t column = 0; column < p.n; ++column) {
      const std::int64_t at = row * p.ldc + column;
      const ReferenceElement expected = reference_element(
          p, product.stored_a_elements.data(), product.stored_b_elements.data(),
          static_cast<double>(product.c_before[static_cast<std::size_t>(at)]), row, column);
      ASSERT_EQ(product.c[static_cast<std::size_t>(at)], static_cast<float>(expected.value))
          << row << ", " << column;
    }
}

}  // namespace rooftile
