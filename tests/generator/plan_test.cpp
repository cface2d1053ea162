// Compares plans with a simulation on the host: every dispatch's workgroups, tile by tile, and the
// address arithmetic of packed operands.
#include "generator/plan.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "generator/layout.h"
#include "generator/packed_format.h"
#include "test_limits.h"

namespace rooftile {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Number of stores to each element of C's buffer, by address; for split-K, of the buffer of
/// partial sums.
std::map<std::int64_t, int> stores(const Variant& v, const GemmPlan& plan) {
  std::map<std::int64_t, int> counts;
  for (const GemmStep& step : plan.gemms) {
    const auto& c = step.push_constants;
    const bool row_major = v.raster != Raster::kColumn;
    const std::int64_t tiles_n = step.groups[row_major ? 0 : 1],
                       tiles_m = step.groups[row_major ? 1 : 0];
    const std::int64_t parts = c.depth == 0 ? 1 : (c.depth + c.split_depth - 1) / c.split_depth;
    RC_ASSERT(std::int64_t{step.groups[2]} * v.tile_batch >= c.batch * parts);
    // Kernels mask what lies beyond m, n and batch. Elements that no tile covers stay unwritten.
    for (std::int64_t z = 0; z < c.batch * parts; ++z)
      for (std::int64_t i = 0; i < std::min<std::int64_t>(tiles_m * v.tile_m, c.m); ++i)
        for (std::int64_t j = 0; j < std::min<std::int64_t>(tiles_n * v.tile_n, c.n); ++j)
          ++counts[c.base_c + z * c.stride_c + i * c.ldc + j];
  }
  return counts;
}

Problem any_problem() {
  const auto size = [](int most) { return *rc::gen::inRange<std::int64_t>(1, most); };
  Problem p = packed_problem(size(150), size(150), size(40),
                             *rc::gen::element(Transpose::kNo, Transpose::kYes),
                             *rc::gen::element(Transpose::kNo, Transpose::kYes));
  p.lda = (p.lda + 3) / 4 * 4 + 4 * *rc::gen::inRange(0, 3);
  p.ldb = (p.ldb + 3) / 4 * 4 + 4 * *rc::gen::inRange(0, 3);
  p.ldc += *rc::gen::inRange(0, 5);
  if (*rc::gen::arbitrary<bool>()) return p;
  p.batch = *rc::gen::inRange(2, 6);
  p.stride_a = *rc::gen::arbitrary<bool>() ? 0 : (stored_a(p).rows * p.lda + 7) / 4 * 4;
  p.stride_b = *rc::gen::arbitrary<bool>() ? 0 : (stored_b(p).rows * p.ldb + 7) / 4 * 4;
  p.stride_c = p.m * p.ldc + *rc::gen::inRange(0, 3);
  return p;
}

Placement any_placement(const Problem& p) {
  Placement at = own_buffers(p);
  at.offset_a = 4 * *rc::gen::inRange(0, 9);
  at.offset_b = 4 * *rc::gen::inRange(0, 9);
  at.offset_c = *rc::gen::inRange(0, 9);
  return at;
}

Variant any_variant() {
  return *rc::gen::element(naive_point(), register_point(), tiled_point(), broadcast_point(),
                           with(broadcast_point(), "packed_b", "no"),
                           with(register_point(), "packed_b", "yes"), vector_point(),
                           with(register_point(), "split_k", "3"),
                           with(broadcast_point(), "split_k", "2"),
                           changed(register_point(), "family=batched_small tile_batch=3"));
}

struct AnyPlan {
  const Problem p = any_problem();
  const Placement at = any_placement(p);
  const Variant v = any_variant();
  DeviceLimits limits = lavapipe_limits();
  AnyPlan() {
    limits.max_workgroup_count = {*rc::gen::inRange(1u, 6u), *rc::gen::inRange(1u, 6u),
                                  *rc::gen::inRange(3u, 6u)};
  }
};

RC_GTEST_PROP(Plan, StoresEveryElementOfCOnceAndNoOthers, ()) {
  const auto [p, at, v, limits] = AnyPlan();
  const double max_flops = *rc::gen::element(kUnbounded, 0.0, 1e3, 1e5);
  RC_PRE(reason(v, limits, p, at) == "");

  const GemmPlan plan = plan_gemm(v, limits, p, at, max_flops);
  const std::map<std::int64_t, int> counts = stores(v, plan);
  if (plan.part_words > 0) {
    const std::int64_t ld = (p.n + 3) / 4 * 4, parts = plan.part_words / (p.batch * p.m * ld);
    RC_ASSERT(static_cast<std::int64_t>(counts.size()) == parts * p.batch * p.m * p.n);
    for (const auto& [address, count] : counts)
      RC_ASSERT(count == 1 && address < plan.part_words && address % ld < p.n);
    return;
  }
  RC_ASSERT(static_cast<std::int64_t>(counts.size()) == p.batch * p.m * p.n);
  for (std::int64_t product = 0; product < p.batch; ++product)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const auto found = counts.find(at.offset_c + product * p.stride_c + i * p.ldc + j);
        RC_ASSERT(found != counts.end() && found->second == 1);
      }
}

RC_GTEST_PROP(Plan, KeepsEveryStepBelowTheLimits, ()) {
  const auto [p, at, v, limits] = AnyPlan();
  const double max_flops = *rc::gen::element(kUnbounded, 1e3, 1e5);
  RC_PRE(reason(v, limits, p, at) == "");

  const GemmPlan plan = plan_gemm(v, limits, p, at, max_flops);
  for (const PackStep& step : plan.packs)
    for (int i : {0, 1, 2})
      RC_ASSERT(step.groups[i] >= 1 && step.groups[i] <= limits.max_workgroup_count[i]);
  for (const GemmStep& step : plan.gemms) {
    const auto& c = step.push_constants;
    for (int i : {0, 1, 2})
      RC_ASSERT(step.groups[i] >= 1 && step.groups[i] <= limits.max_workgroup_count[i]);
    const bool one_tile =
        c.m <= static_cast<std::uint32_t>(v.tile_m) && c.n <= static_cast<std::uint32_t>(v.tile_n);
    RC_ASSERT((one_tile && c.batch == 1) || 2.0 * c.m * c.n * c.depth * c.batch <= max_flops);
  }
}

/// Address of op(A)(row, step) or op(B)(step, column), as the templates' address functions compute
/// it.
std::int64_t packed_address(std::int64_t offset, std::int64_t index, std::int64_t step,
                            std::int64_t panel, std::int64_t group, std::int64_t padded_k) {
  return offset + index / panel * (panel * padded_k) + step / group * (panel * group) +
         index % panel * group + step % group;
}

RC_GTEST_PROP(Plan, EveryStepReadsTheRowsAndColumnsThatItWrites, ()) {
  const Problem p = any_problem();
  const Placement at = any_placement(p);
  const Variant v = any_variant();
  RC_PRE(reason(v, lavapipe_limits(), p, at) == "");
  const GemmPlan plan = plan_gemm(v, lavapipe_limits(), p, at, 1e4);
  const std::int64_t padded_k = (p.k + v.unroll_k - 1) / v.unroll_k * v.unroll_k;
  for (const GemmStep& step : plan.gemms) {
    const auto& c = step.push_constants;
    const bool split = plan.part_words > 0;
    const std::int64_t ldc = split ? (p.n + 3) / 4 * 4 : p.ldc;
    const std::int64_t origin = c.base_c - (split ? 0 : at.offset_c);
    const std::int64_t parts = split ? (p.k + c.split_depth - 1) / c.split_depth : 1;
    const std::int64_t product_stride = split ? parts * p.m * ldc : p.stride_c;
    const std::int64_t product = p.batch > 1 ? origin / product_stride : 0;
    const std::int64_t in_product = origin - product * product_stride;
    const std::int64_t row0 = in_product / ldc, column0 = in_product % ldc;
    const auto panels = [&](std::int64_t rows, int tile, std::int64_t stride) {
      return stride == 0 ? 0 : product * ((rows + tile - 1) / tile * tile * padded_k);
    };
    const std::int64_t packed_a_panels = panels(p.m, v.tile_m, p.stride_a);
    const std::int64_t packed_b_panels = panels(p.n, v.tile_n, p.stride_b);
    RC_ASSERT(row0 % v.tile_m == 0 && column0 % v.tile_n == 0);
    // Indices of the last elements of the packed operands.
    const std::int64_t i = c.m - 1, j = c.n - 1, u = p.k - 1;
    if (v.packed_a == Packed::kYes)
      RC_ASSERT(packed_address(c.base_a, i, u, v.tile_m, v.unroll_k, padded_k) ==
                packed_address(packed_a_panels, row0 + i, u, v.tile_m, v.unroll_k, padded_k));
    else
      RC_ASSERT(c.base_a == at.offset_a + product * p.stride_a +
                                (p.trans_a == Transpose::kYes ? row0 : row0 * p.lda));
    if (v.packed_b == Packed::kYes)
      RC_ASSERT(packed_address(c.base_b, j, u, v.tile_n, 1, padded_k) ==
                packed_address(packed_b_panels, column0 + j, u, v.tile_n, 1, padded_k));
    else
      RC_ASSERT(c.base_b == at.offset_b + product * p.stride_b +
                                (p.trans_b == Transpose::kYes ? column0 * p.ldb : column0));
  }
}

TEST(Plan, SizesTheWorkspaceInWholePanels) {
  const Problem p = packed_problem(17, 65, 9);
  const GemmPlan plan = plan_gemm(broadcast_point(), lavapipe_limits(), p, own_buffers(p));
  EXPECT_EQ(plan.packed_a_words, 32 * 16);   // blocks of 16 rows, groups of 8 steps
  EXPECT_EQ(plan.packed_b_words, 128 * 16);  // blocks of 64 columns
  ASSERT_EQ(plan.packs.size(), 2u);
  EXPECT_EQ(plan.packs[0].operand, Operand::kA);
  EXPECT_EQ(plan.packs[0].push_constants.rows, 17u);
  EXPECT_EQ(plan.packs[0].push_constants.depth, 9u);
  EXPECT_EQ(plan.packs[1].push_constants.rows, 65u);
  EXPECT_EQ(plan.packs[1].push_constants.ld, 65u);
  ASSERT_EQ(plan.gemms.size(), 1u);
  EXPECT_THAT(plan.gemms[0].groups, testing::ElementsAre(2, 2, 1));
}

TEST(Plan, PacksTheExpertsInStepsThatABindingHolds) {
  Problem p = packed_problem(40, 65, 9);
  p.grouping = {.experts = 7, .groups = 7};
  p.stride_b = 9 * 65 + 3;
  Placement at = own_buffers(p);
  at.offset_b = 8;
  const Variant v = with(register_point(), "packed_b", "yes");
  const auto packs_with = [&](std::int64_t panels) {
    DeviceLimits limits = lavapipe_limits();
    const std::int64_t panel =
        plan_grouped(v, limits, p, at, 7, kUnbounded).packs.back().push_constants.panel_stride;
    // One word less than that many panels and one more.
    limits.max_storage_buffer_range_bytes =
        static_cast<std::uint64_t>((panels + 1) * panel - 1) * 4;
    std::vector<PackStep> packs = plan_grouped(v, limits, p, at, 7, kUnbounded).packs;
    std::int64_t expert = 0;
    for (const PackStep& step : packs) {
      EXPECT_EQ(step.push_constants.base, 8 + expert * p.stride_b);
      EXPECT_EQ(step.first_word, expert * panel);
      EXPECT_EQ(step.words, packs.size() == 1 ? 0 : step.groups[2] * panel);
      EXPECT_LE(step.words * 4, static_cast<std::int64_t>(limits.max_storage_buffer_range_bytes));
      expert += step.groups[2];
    }
    EXPECT_EQ(expert, 7);
    return packs.size();
  };
  EXPECT_EQ(packs_with(7), 1u);
  EXPECT_EQ(packs_with(6), 2u);
  EXPECT_EQ(packs_with(2), 4u);
  EXPECT_EQ(packs_with(1), 7u);
}

TEST(Plan, SkipsReadsOfAAndBWhenAlphaOrKIsZero) {
  Problem p = packed_problem(17, 65, 9);
  p.alpha = 0.0f;
  p.beta = 0.5f;
  for (const Problem& q : {p, packed_problem(17, 65, 0)}) {
    const GemmPlan plan = plan_gemm(broadcast_point(), lavapipe_limits(), q, own_buffers(q));
    EXPECT_TRUE(plan.packs.empty());
    EXPECT_EQ(plan.packed_a_words, 0);
    ASSERT_EQ(plan.gemms.size(), 1u);
    EXPECT_EQ(plan.gemms[0].push_constants.depth, 0u);
    EXPECT_EQ(plan.gemms[0].push_constants.alpha, 0.0f);
    EXPECT_EQ(plan.gemms[0].push_constants.beta, q.beta);
  }
}

TEST(Plan, AnInfiniteAlphaDoesNotMultiplyTheEmptySumWhenKIsZero) {
  Problem p = packed_problem(2, 3, 0);
  p.alpha = INFINITY;  // Multiplied by an empty sum, it would give NaN.
  EXPECT_EQ(
      plan_gemm(naive_point(), lavapipe_limits(), p, own_buffers(p)).gemms[0].push_constants.alpha,
      0.0f);
}

TEST(Plan, DoesNothingForAnEmptyC) {
  for (const Problem& p : {packed_problem(0, 3, 4), packed_problem(3, 0, 4)}) {
    const GemmPlan plan = plan_gemm(broadcast_point(), lavapipe_limits(), p, own_buffers(p));
    EXPECT_TRUE(plan.packs.empty() && plan.gemms.empty());
  }
}

TEST(Plan, CutsRowsBeforeColumns) {
  const Problem p = packed_problem(64, 64, 10);
  // 8 rows of 64 columns take 10240 FLOP.
  const GemmPlan rows = plan_gemm(register_point(), lavapipe_limits(), p, own_buffers(p), 10240);
  ASSERT_EQ(rows.gemms.size(), 8u);
  for (const GemmStep& step : rows.gemms) EXPECT_EQ(step.push_constants.n, 64u);
  const GemmPlan tiles = plan_gemm(register_point(), lavapipe_limits(), p, own_buffers(p), 10239);
  EXPECT_EQ(tiles.gemms.size(), 16u);
}

TEST(Plan, AddsRangesOfKThatOneDispatchCannotCompute) {
  Problem p = packed_problem(20, 36, 1000);
  p.beta = 0.25f;
  const Variant v = register_point();
  DeviceLimits limits = lavapipe_limits();
  limits.max_loop_trips = static_cast<std::uint32_t>(loop_trips(v, 450 / v.unroll_k));
  const std::int64_t longest = 450 / v.unroll_k * v.unroll_k;
  const GemmPlan plan = plan_gemm(v, limits, p, own_buffers(p), 2.0 * 1000 * 8 * 36);
  ASSERT_EQ(plan.gemms.size(), 9u);  // three ranges of k, each in three ranges of rows
  for (std::size_t i = 0; i < 9; ++i) {
    const GemmPushConstants& c = plan.gemms[i].push_constants;
    const auto range = static_cast<std::int64_t>(i / 3), row = static_cast<std::int64_t>(i % 3) * 8;
    EXPECT_EQ(c.base_a, row * p.lda + range * longest);
    EXPECT_EQ(c.base_b, range * longest * p.ldb);
    EXPECT_EQ(c.depth, range < 2 ? longest : 1000 - 2 * longest);
    EXPECT_EQ(c.split_depth, c.depth);
    EXPECT_EQ(c.beta, range == 0 ? 0.25f : 1.0f);
    EXPECT_EQ(plan.gemms[i].adds, i == 3 || i == 6);  // one barrier before each further range
  }
}

// Register kernels look for panel i behind i panels of their dispatch's depth.
TEST(Plan, TakesOnePanelOfAPackedOperandForARangeOfK) {
  const Problem p = packed_problem(100, 200, 1000);
  DeviceLimits limits = lavapipe_limits();
  const auto tiles = [&](const std::string& packed) {
    const Variant v = changed(register_point(), "raster=row " + packed);
    limits.max_loop_trips = static_cast<std::uint32_t>(loop_trips(v, 600 / v.unroll_k));
    const GemmPlan plan = plan_gemm(v, limits, p, own_buffers(p));
    for (const GemmStep& step : plan.gemms) {
      EXPECT_EQ(step.groups[1], v.packed_a == Packed::kYes ? 1u : divide_up(100, v.tile_m));
      EXPECT_EQ(step.groups[0], v.packed_b == Packed::kYes ? 1u : divide_up(200, v.tile_n));
    }
    return static_cast<std::int64_t>(plan.gemms.size());
  };
  const Variant v = register_point();
  const std::int64_t rows = divide_up(100, v.tile_m), columns = divide_up(200, v.tile_n);
  EXPECT_EQ(tiles(""), 2);
  EXPECT_EQ(tiles("packed_a=yes vector_width_a=4"), 2 * rows);
  EXPECT_EQ(tiles("packed_b=yes vector_width_b=4"), 2 * columns);
}

TEST(Plan, CutsATileAlongKWhereItTakesTooLong) {
  const Problem p = packed_problem(3, 5, 100'000);
  const Variant v = register_point();
  const GemmPlan plan = plan_gemm(v, discrete_limits(), p, own_buffers(p), 2.0 * 3 * 5 * 40'000);
  ASSERT_EQ(plan.gemms.size(), 3u);
  EXPECT_EQ(plan.gemms[1].push_constants.depth, 40'000u);
  // An epilogue must not be applied to a part of a sum.
  Problem fused = p;
  fused.epilogue.activation = Activation::kRelu;
  EXPECT_EQ(
      plan_gemm(v, discrete_limits(), fused, own_buffers(fused), 2.0 * 3 * 5 * 40'000).gemms.size(),
      1u);
}

TEST(PackedFormat, DependsOnTheOperandAlone) {
  const Variant few = parse_variant(
                    "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 "
                    "vector_width_b=4 packed_b=yes"),
                many = parse_variant(
                    "family=register tile_m=64 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 "
                    "vector_width_b=4 packed_b=yes"),
                wide = parse_variant(
                    "family=register tile_m=8 tile_n=64 reg_m=4 reg_n=4 unroll_k=4 "
                    "vector_width_b=4 packed_b=yes");
  const Problem decode = packed_problem(1, 70, 30),
                prefill = packed_problem(512, 70, 30, Transpose::kYes);
  const auto format = packed_format(few, decode, Operand::kB);
  ASSERT_TRUE(format);
  EXPECT_EQ(format, packed_format(many, prefill, Operand::kB));
  EXPECT_NE(format, packed_format(wide, decode, Operand::kB));
  EXPECT_EQ(packed_format(few, decode, Operand::kA), std::nullopt);
  EXPECT_EQ(format->words(), 96 * 32);
  // The format has the size that a plan packs.
  EXPECT_EQ(plan_gemm(few, minimum_limits(), decode, own_buffers(decode)).packed_b_words,
            format->words());
  EXPECT_EQ(packing_share(few, decode, Operand::kB), 1);
  EXPECT_EQ(packing_share(few, decode, Operand::kA), 0);
}

TEST(PlanTest, SumsOfIntegersAreReducedToAFloatingPointCWhereNothingIsAdded) {
  for (const char* types : {"u8", "i8", "f32"}) {
    Problem p = packed_problem(5, 7, 128, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
    p.alpha = 0;
    p.beta = 2;
    const GemmPlan plan =
        plan_gemm(with(register_point(), "split_k", "3"), lavapipe_limits(), p, own_buffers(p));
    EXPECT_EQ(plan.reduces.empty(), p.types.a == DataType::kF32) << types;
  }
}

}  // namespace
}  // namespace rooftile
