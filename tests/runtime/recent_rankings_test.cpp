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
    std::vector<TunedKernel> tuned;
    const std::vector<Variant> space = legal_variants(limits_);
    for (std::size_t i = 0; i < space.size(); i += space.size() / 300) {
      const Variant& variant = space[i];
      if (variant.reduction == Reduction::kAtomic) continue;
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
