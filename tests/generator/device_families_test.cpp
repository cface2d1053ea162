// Runs a sample of the whole kernel space on the device.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_product.h"
#include "generator/compiler_work.h"
#include "generator/space.h"
#include "test_limits.h"
#include "tests/support/swiftshader.h"

namespace rooftile {
namespace {

class SampledSpace : public testing::TestWithParam<Family> {};

struct Sample {
  std::size_t kernels;  // per family
  double statements;    // at most
};
/// SwiftShader's compiler takes a time that grows with the square of a kernel's statements: 1 s for
/// 900 of them, 15 s for 3200, which are the same statements for more registers.
Sample sample() {
  return is_swiftshader(test_device().profile()) ? Sample{7, 300} : Sample{11, 1200};
}

TEST_P(SampledSpace, ComputesRaggedProducts) {
  std::vector<Variant> family;
  for (const Variant& v : legal_variants(test_device().profile().limits))
    if (v.family == GetParam() && v.dot == 1 && v.reduction == Reduction::kOrdered &&
        compiler_work(v, {}) <= sample().statements)
      family.push_back(v);  // tests/tuner runs the matrix families
  ASSERT_FALSE(family.empty());
  const std::size_t step = std::max<std::size_t>(1, family.size() / sample().kernels) | 1;
  std::size_t turn = 0;
  for (std::size_t i = 0; i < family.size(); i += step, ++turn) {
    const Signature s = all_signatures()[turn % all_signatures().size()];
    const Variant& v = family[i];
    if (v.edge == Edge::kExact) {
      Product whole = padded_product(v, s, 2 * v.tile_m, v.tile_n, 2 * v.tile_k * v.unroll_k, 4);
      whole.p.beta = 0.5f;
      EXPECT_EQ(difference(ProductKernel(v, s), whole), "") << to_string(v);
      continue;
    }
    const auto ragged_product = [&](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
      return padded_product(v, s, rows, columns, depth * v.split_k, 3);
    };
    const auto is_illegal = [&](const Product& product) {
      return illegal_reason(v, test_device().profile().limits, product.p, product.at).has_value();
    };
    const std::int64_t whole_depth = 2 * v.tile_k * v.unroll_k + 1;  // of each split's share of k
    // SwiftShader's texel buffers hold 65536 texels, the smallest limit that Vulkan allows: k gets
    // less deep, and where each slice of k needs a long trip, C gets narrow.
    Product ragged = ragged_product(v.tile_m + 3, v.tile_n + 5, whole_depth);
    for (const auto& [rows, columns] : {std::pair{v.tile_m + 3, v.tile_n + 5}, {1, 3}, {1, 1}})
      for (std::int64_t depth = whole_depth; depth >= 3 && is_illegal(ragged);
           depth = depth == 3 ? 0 : depth / 2 | 1)
        ragged = ragged_product(rows, columns, depth);
    if (v.tile_batch > 1) ragged = batched(ragged, 2 * v.tile_batch + 1, SharedB::kNo);
    ragged.p.alpha = -0.75f;
    ragged.p.beta = turn % 2 == 0 ? 0.0f : 0.5f;
    EXPECT_EQ(difference(ProductKernel(v, s), ragged), "") << to_string(v);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SampledSpace,
                         testing::Values(Family::kNaive, Family::kRegister, Family::kTiled,
                                         Family::kBroadcast, Family::kVector,
                                         Family::kBatchedSmall),
                         [](const auto& family) { return std::string(name(family.param)); });

}  // namespace
}  // namespace rooftile
