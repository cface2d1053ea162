// Scalars and sizes with special rules in BLAS, and default kernels, on the device.
#include <gtest/gtest.h>

#include <cmath>

#include "device_product.h"
#include "generator/space.h"
#include "test_limits.h"
#include "tests/support/untuned_default.h"

namespace rooftile {
namespace {

/// One kernel of each family that this device can run, including the default and the fallback.
std::vector<Variant> special_variants() {
  Variant tiled = tiled_point();
  tiled.tile_m = 32;
  return {fallback_variant(), register_point(), tiled, vector_point(),
          default_variant(test_device().profile())};
}

TEST(Special, AlphaZeroReadsNeitherANorB) {
  for (const Variant& v : special_variants())
    for (float beta : {0.0f, 1.0f, -0.5f}) {
      Product product = padded_product(v, {}, v.tile_m + 1, v.tile_n + 3, 13, 2);
      product.p.alpha = 0.0f;  // make_operands fills A and B with NaN
      product.p.beta = beta;
      EXPECT_EQ(difference(ProductKernel(v, {}), product), "");
    }
}

TEST(Special, AnEmptySumScalesC) {
  for (const Variant& v : special_variants())
    for (float beta : {0.0f, 2.0f}) {
      Product product = padded_product(v, {}, v.tile_m + 1, v.tile_n + 3, 0, 1);
      product.p.alpha = INFINITY;  // Multiplied by an empty sum, it would give NaN.
      product.p.beta = beta;
      EXPECT_EQ(difference(ProductKernel(v, {}), product), "");
    }
}

TEST(Special, OneElementIsAProblem) {
  for (const Variant& v : special_variants())
    for (const Signature& s : all_signatures())
      EXPECT_EQ(difference(ProductKernel(v, s), padded_product(v, s, 1, 1, 1, 3)), "");
}

TEST(Special, VectorsThatEndTheBufferAreEnough) {
  // There is no padding, so the last vector ends at the end of the buffer.
  for (const Variant& v : special_variants())
    for (const Signature& s : all_signatures()) {
      Product product = padded_product(v, s, 8, 12, 16, 0);
      product.at = own_buffers(product.p);
      EXPECT_EQ(difference(ProductKernel(v, s), product), "");
    }
}

TEST(Special, TheLongestLoopThatIsLegalRunsToItsEnd) {
  DeviceLimits limits = test_device().profile().limits;
  if (limits.max_loop_trips == 0) limits.max_loop_trips = 65535;
  for (const Variant& v : special_variants()) {
    std::int64_t k = std::int64_t{limits.max_loop_trips} * v.unroll_k;
    Product product = padded_product(v, {}, 2, 3, k, 0);
    while (illegal_reason(v, limits, product.p, product.at))
      product = padded_product(v, {}, 2, 3, k -= 8, 0);
    // The smallest texel buffers that Vulkan allows, 65536 texels, hold this many steps of 32
    // columns.
    EXPECT_GE(k, 8192);
    EXPECT_EQ(difference(ProductKernel(v, {}), product), "");
  }
}

}  // namespace
}  // namespace rooftile
