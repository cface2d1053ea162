#include "runtime/tuned/recent_rankings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "generator/space.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

/// Ids and times of a list, which tell two lists apart.
std::vector<std::pair<const CandidateRecord*, double>> content(
    const std::vector<RankedChoice>& list) {
  std::vector<std::pair<const CandidateRecord*, double>> content;
  for (const RankedChoice& choice : list)
    content.emplace_back(choice.candidate, choice.expected_ns);
  return content;
}

class RecentRankingsTest : public ::testing::Test {
 protected:
  RecentRankingsTest() {
    limits_.texel_buffer_r32 = limits_.texel_buffer_rgba32 = true;
    limits_.subgroup_size = limits_.min_subgroup_size = limits_.max_subgroup_size = 8;
    limits_.subgroup_broadcast = true;  // So that kernels of packed operands are legal.
    limits_.shared_memory_bytes = 32768;
    std::vector<TunedKernel> tuned;
    const std::vector<Variant> space = legal_variants(limits_);
    std::size_t packing = 0;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const Variant& variant = space[i];
      const bool packs = variant.packed_b != Packed::kNo && ++packing <= 5;
      if (variant.reduction == Reduction::kAtomic || (!packs && i % (space.size() / 300) != 0))
        continue;
      const Problem p = packed_problem(33 + static_cast<std::int64_t>(tuned.size()), 90, 65);
      tuned.push_back({.candidate = {.hash = std::to_string(tuned.size()), .variant = variant},
                       .problem = p,
                       .kernel_ns = 1e6 + static_cast<double>(tuned.size())});
    }
    ranking_.emplace(limits_, DeviceRates{}, std::move(tuned));
    recent_.emplace(*ranking_);
  }
  void expect_right(const Problem& p, const Placement& placement, const DeviceLimits& limits) {
    EXPECT_EQ(content(recent_->ranked(p, placement, limits)),
              content(ranking_->ranked(p, placement, limits)));
  }

  DeviceLimits limits_;
  std::optional<KernelRanking> ranking_;
  std::optional<RecentRankings> recent_;
};

// The same problem elsewhere, or with other limits, has the same slot.
TEST_F(RecentRankingsTest, AreThoseOfTheProblemItsPlacementAndTheLimits) {
  const Problem p = packed_problem(40, 96, 64);
  Placement unaligned = own_buffers(p);
  unaligned.offset_a = 3;
  unaligned.readable_a = 40 * 64;
  DeviceLimits small = limits_;
  small.texel_buffer_r32 = small.texel_buffer_rgba32 = false;
  small.shared_memory_bytes = 4096;
  const auto all = content(ranking_->ranked(p, own_buffers(p), limits_));
  ASSERT_THAT(all, Not(IsEmpty()));
  ASSERT_NE(content(ranking_->ranked(p, unaligned, limits_)), all);
  ASSERT_NE(content(ranking_->ranked(p, own_buffers(p), small)), all);
  for (int again = 0; again < 2; ++again) {
    expect_right(p, own_buffers(p), limits_);
    expect_right(p, own_buffers(p), limits_);
    expect_right(p, unaligned, limits_);
    expect_right(p, own_buffers(p), small);
    // More problems than are kept.
    for (std::int64_t m = 41; m < 200; ++m)
      expect_right(packed_problem(m, 96, 64), own_buffers(p), limits_);
  }
}

TEST_F(RecentRankingsTest, AreThoseOfThePackedOperand) {
  const Problem p = packed_problem(40, 96, 64);
  const Placement own = own_buffers(p);
  PackedOperand nothing, panels;
  nothing.shape = panels.shape = shape_of(p, Operand::kB);
  for (const RankedChoice& choice : ranking_->ranked(p, own, limits_))
    if (const auto format = packed_format(choice.candidate->variant, p, Operand::kB))
      panels.forms.push_back({.panels = format});
  const auto direct = [&](const PackedOperand& packed, IsStored is_stored) {
    return content(ranking_->ranked(p, own, limits_, prepacked(&packed, p, is_stored)));
  };
  ASSERT_NE(direct(nothing, IsStored::kNo), direct(panels, IsStored::kNo));
  ASSERT_NE(direct(nothing, IsStored::kNo), direct(nothing, IsStored::kYes));
  for (int again = 0; again < 2; ++again) {
    expect_right(p, own, limits_);
    for (const IsStored is_stored : {IsStored::kNo, IsStored::kYes})
      for (const PackedOperand* packed : {&nothing, &panels})
        EXPECT_EQ(content(recent_->ranked(p, own, limits_, packed, is_stored)),
                  direct(*packed, is_stored));
  }
}

TEST_F(RecentRankingsTest, MayBeAskedForByAnyThread) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const Problem p = packed_problem(30 + (i * (thread + 1)) % 7, 90, 65);
        expect_right(p, own_buffers(p), limits_);
      }
    });
}

}  // namespace
}  // namespace rooftile
