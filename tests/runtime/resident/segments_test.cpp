// Placement of barriers and of submission ends between GEMMs and copies.
#include <gtest/gtest.h>

#include "runtime/resident/resident_segments.h"

namespace rooftile {
namespace {

/// Returns "c" for a copy, "d" for a dispatch, "|" for a barrier, and "/" between submissions.
std::string text(const Segments& segments) {
  std::string result;
  for (const std::vector<Step>& list : segments.lists()) {
    if (&list != &segments.lists().front()) result += "/";
    for (const Step& step : list)
      result += std::holds_alternative<CopyStep>(step)      ? "c"
                : std::holds_alternative<BarrierStep>(step) ? "|"
                                                            : "d";
  }
  return result;
}

class SegmentsTest : public ::testing::Test {
 protected:
  void copy(Access read, Access written) { segments_.add(CopyStep{}, read, written); }
  Segments segments_;
  Buffer x_, y_, z_;
};

TEST_F(SegmentsTest, NoStepsGiveOneEmptyList) { EXPECT_EQ(text(segments_), ""); }

TEST_F(SegmentsTest, IndependentStepsHaveNoBarrier) {
  copy({&x_, 0, 10}, {&y_, 0, 10});
  copy({&x_, 0, 10}, {&y_, 10, 20});  // reads the same bytes, writes others
  copy({&z_, 0, 5}, {&y_, 20, 25});
  EXPECT_EQ(text(segments_), "ccc");
}

TEST_F(SegmentsTest, AReadAfterAWriteHasABarrier) {
  copy({&x_, 0, 10}, {&y_, 0, 10});
  copy({&y_, 9, 12}, {&z_, 0, 3});
  EXPECT_EQ(text(segments_), "c|c");
}

TEST_F(SegmentsTest, AWriteAfterAReadHasABarrier) {
  copy({&x_, 0, 10}, {&y_, 0, 10});
  copy({&z_, 0, 10}, {&x_, 9, 19});
  EXPECT_EQ(text(segments_), "c|c");
}

TEST_F(SegmentsTest, AWriteAfterAWriteHasABarrier) {
  copy({&x_, 0, 10}, {&y_, 0, 10});
  copy({&z_, 0, 10}, {&y_, 5, 15});
  EXPECT_EQ(text(segments_), "c|c");
}

TEST_F(SegmentsTest, ABarrierCoversAllEarlierSteps) {
  copy({&x_, 0, 10}, {&y_, 0, 10});
  copy({&y_, 0, 10}, {&z_, 0, 10});
  copy({&y_, 0, 10}, {&z_, 10, 20});  // reads bytes written before the barrier
  copy({&z_, 0, 10}, {&x_, 20, 30});  // reads bytes written after the barrier
  EXPECT_EQ(text(segments_), "c|cc|c");
}

TEST_F(SegmentsTest, SubmissionsStayBelowAQuarterOfASecond) {
  const auto product = [&](std::size_t gemms, double ns) {
    ProductSteps steps;
    steps.steps.emplace_back(CopyStep{});
    steps.first_gemm = 1;
    steps.gemms = gemms;
    for (std::size_t i = 0; i < gemms; ++i) steps.steps.emplace_back(DispatchStep{});
    steps.writes.push_back({&x_, 0, 10});
    segments_.add(std::move(steps), ns);
  };
  product(1, 0.1e9);
  product(1, 0.1e9);
  EXPECT_EQ(text(segments_), "cd|cd");
  product(3, 0.6e9);  // 0.2 s each
  EXPECT_EQ(text(segments_), "cd|cd|c/d/d/d");
  copy({&x_, 0, 10}, {&y_, 0, 10});
  EXPECT_EQ(text(segments_), "cd|cd|c/d/d/d|c");
  EXPECT_DOUBLE_EQ(segments_.expected_ns(), 0.8e9);
}

}  // namespace
}  // namespace rooftile
