// Scalars and sizes with special rules in BLAS, and default kernels, on the device.
#include <gmock/gmock.h>

#include <cmath>

#include "device_product.h"
#include "generator/layout.h"
#include "generator/space.h"
#include "test_limits.h"
#include "tests/support/fast_kernel.h"

namespace rooftile {
namespace {

/// One kernel of each family that this device can run, including the default and the fallback.
std::vector<Variant> special_variants() {
  Variant tiled = tiled_point();
  tiled.tile_m = 32;
  return {fallback_variant(), register_point(), tiled, vector_point(),
          fast_kernel(test_device().profile())};
}

TEST(Special, AlphaZeroReadsNeitherANorB) {
  for (const Variant& v : special_variants()) {
    const ProductKernel kernel(v, {});
    for (float beta : {0.0f, 1.0f, -0.5f}) {
      Product product = padded_product(v, {}, v.tile_m + 1, v.tile_n + 3, 13, 2);
      product.p.alpha = 0.0f;  // make_operands fills A and B with NaN
      product.p.beta = beta;
      EXPECT_EQ(difference(kernel, product), "");
    }
  }
}

TEST(Special, AnEmptySumScalesC) {
  for (const Variant& v : special_variants()) {
    const ProductKernel kernel(v, {});
    for (float beta : {0.0f, 2.0f}) {
      Product product = padded_product(v, {}, v.tile_m + 1, v.tile_n + 3, 0, 1);
      product.p.alpha = INFINITY;  // Multiplied by an empty sum, it would give NaN.
      product.p.beta = beta;
      EXPECT_EQ(difference(kernel, product), "");
    }
  }
}

TEST(Special, OneElementIsAProblemAndVectorsThatEndTheBufferAreEnough) {
  for (const Variant& v : special_variants())
    for (const Signature& s : all_signatures()) {
      const ProductKernel kernel(v, s);
      EXPECT_EQ(difference(kernel, padded_product(v, s, 1, 1, 1, 3)), "");
      // There is no padding, so the last vector ends at the end of the buffer.
      Product product = padded_product(v, s, 8, 12, 16, 0);
      product.at = own_buffers(product.p);
      EXPECT_EQ(difference(kernel, product), "");
    }
}

TEST(Special, SumsLongerThanTheDriversLoopsAreComputed) {
  DeviceLimits limits = test_device().profile().limits;
  if (limits.max_loop_trips == 0) limits.max_loop_trips = 65535;
  for (const Variant& v : special_variants()) {
    const ProductKernel kernel(v, {});
    // As far as one dispatch runs, one step further, and further than two dispatches run.
    const std::int64_t longest = longest_depth(v, limits);
    for (const std::int64_t k : {longest, longest + 1, 2 * longest + k_step(v) + 1}) {
      Product product = padded_product(v, {}, 2, 3, k, 0);
      product.p.beta = 0.5f;
      // Buffers of 65536 texels or 128 MiB, the smallest that drivers offer, may not hold them.
      if (const auto reason = illegal_reason(v, limits, product.p, product.at)) {
        EXPECT_THAT(*reason, testing::ContainsRegex("texel|storage buffer range"));
        continue;
      }
      EXPECT_EQ(difference(kernel, product), "") << to_string(v) << ", k " << k;
    }
  }
}

}  // namespace
}  // namespace rooftile
