// Calls on a device whose calibration determines the transfer path of operands: staged, copied by
// the device, or used in place.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/pages.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {

/// Importing is nearly free, and staging is slow.
inline Calibration in_place() {
  Calibration c = slow_host();
  c.device.upload_gbps = c.device.download_gbps = 1e-3;
  c.device.import_ns = 1;
  c.device.import_upload_gbps = c.device.import_download_gbps = 1;
  return c;
}
/// Kernels read the host's memory very slowly, so that the device copies it.
inline Calibration copied() {
  Calibration c = in_place();
  c.device.import_read_extra_ns = c.device.import_write_extra_ns = 1e6;
  return c;
}

/// Sizes at tile edges, rows that kernels can load in place, and a C with gaps.
inline Problem odd(Transpose trans_a, Transpose trans_b, float beta) {
  Problem p = packed_problem(65, 67, 129, trans_a, trans_b);
  const auto whole_loads = [](std::int64_t columns) { return (columns + 3) / 4 * 4 + 4; };
  p.lda = whole_loads(p.lda);
  p.ldb = whole_loads(p.ldb);
  p.ldc += 2;
  p.alpha = -1.5f;
  p.beta = beta;
  return p;
}
/// A problem whose operands have the layout of staged copies.
inline Problem whole(float beta = 0) {
  Problem p = packed_problem(65, 68, 132);
  p.beta = beta;
  return p;
}

class Transfer : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    if (needs_import() && device_.limits.host_import_alignment_bytes == 0)
      GTEST_SKIP() << device_.name << " cannot import host memory";
  }
  virtual bool needs_import() const { return true; }

  std::unique_ptr<Context> open(const Calibration& calibration, const Types& types = {}) {
    const std::filesystem::path file = folder_ / fmt::format("{}.db", databases_++);
    write_test_database(file, device_, {fast_kernel(device_), fallback_variant()}, {}, types,
                        calibration);
    // One kernel for all calls: the staged layout depends on the kernel, and the quick kernel has
    // another one.
    return std::make_unique<Context>(ContextOptions{.database = file,
                                                    .cache_folder = folder_ / "cache",
                                                    .while_compiling = WhileCompiling::kWait});
  }
  std::unique_ptr<Context> open_staging() { return open(slow_host()); }

  /// Runs the call on the device, with each operand in pages that are unmapped afterwards.
  static void run(Context& context, Product& product, const Guard& guard = {},
                  const Offsets& at = {}) {
    InPages operands(product, at);
    GemmCall call = operands.call(TierChoice::kDevice);
    call.guard = guard;
    context.gemm(call);
    operands.take_c();
    product.expect_right();
    EXPECT_EQ(context.device_state().last_failure, "");
  }
  /// Same as run, and returns the number of imported operands.
  static std::uint64_t imports(Context& context, Product& product, const Guard& guard = {},
                               const Offsets& at = {}) {
    const std::uint64_t before = context.device_state().imports;
    run(context, product, guard, at);
    return context.device_state().imports - before;
  }
  static void expect_same_bits(const Product& x, const Product& y) {
    for (std::size_t i = 0; i < x.c.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x.c[i]), std::bit_cast<std::uint32_t>(y.c[i])) << i;
  }

  ScratchFolder folder_;
  DeviceProfile device_;
  int databases_ = 0;
};

}  // namespace rooftile
