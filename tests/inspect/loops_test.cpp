#include "inspect/loops.h"

#include <gmock/gmock.h>

#include "inspect/main_loop.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A program whose block i has work[i] multiply-adds, others[i] other instructions, and leads to
/// next[i].
Program program(std::vector<std::vector<std::size_t>> next, std::vector<int> work = {},
                std::vector<int> others = {}) {
  work.resize(next.size());
  others.resize(next.size());
  Program made;
  for (std::size_t i = 0; i < next.size(); ++i) {
    made.blocks.push_back({.first = made.instructions.size(),
                           .count = static_cast<std::size_t>(work[i] + others[i]),
                           .successors = next[i]});
    for (int j = 0; j < work[i] + others[i]; ++j)
      made.instructions.push_back(
          {.kind = j < work[i] ? InstructionClass::kMultiplyAdd : InstructionClass::kVector,
           .multiply_adds = j < work[i] ? 32.0 : 0.0,
           .line = made.instructions.size() + 1});
  }
  return made;
}

TEST(LoopsTest, AProgramWithoutBackEdgesHasNone) {
  EXPECT_THAT(loops_of(program({{1, 2}, {3}, {3}, {}})), IsEmpty());
  EXPECT_THAT(loops_of({}), IsEmpty());
}

TEST(LoopsTest, TheBodyHoldsWhatComesBack) {
  // 1 is the header, 2 and 3 are branches in the loop, 4 leaves it from inside.
  const std::vector<Loop> loops = loops_of(program({{1}, {2, 5}, {3, 4}, {1}, {5}, {}}));
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(loops[0].header, 1u);
  EXPECT_THAT(loops[0].blocks, ElementsAre(1, 2, 3));
  EXPECT_EQ(loops[0].parent, std::nullopt);
}

TEST(LoopsTest, InnerLoopsKnowTheLoopAroundThem) {
  const std::vector<Loop> loops = loops_of(program({{1}, {2}, {2, 3}, {3, 4}, {1, 5}, {}}));
  ASSERT_THAT(loops, SizeIs(3));
  EXPECT_THAT(loops[0].blocks, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(loops[1].parent, 0u);
  EXPECT_EQ(loops[2].parent, 0u);
}

TEST(LoopsTest, SeveralWaysBackAreOneLoop) {
  const std::vector<Loop> loops = loops_of(program({{1}, {2, 3}, {1}, {1, 4}, {}}));
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_THAT(loops[0].blocks, ElementsAre(1, 2, 3));
}

TEST(LoopsTest, CyclesWithTwoEntriesAndUnreachableBlocksAreLeftOut) {
  EXPECT_THAT(loops_of(program({{1, 2}, {2}, {1, 3}, {}})), IsEmpty());
  EXPECT_THAT(loops_of(program({{1}, {}, {2}})), IsEmpty());
}

/// Others of the main loop; -1: there is none.
int main_others(const Program& p) {
  const auto loop = main_loop(p);
  return loop ? loop->counts.others() : -1;
}

TEST(MainLoopTest, ALoopWithoutMultiplyAddsIsNone) {
  EXPECT_EQ(main_others(program({{1}, {1, 2}, {}}, {5, 0, 5}, {0, 3, 0})), -1);
  EXPECT_EQ(main_others(program({{1}, {}}, {5, 5})), -1);
}

TEST(MainLoopTest, TheLoopWithTheMostMultiplyAddsIsTaken) {
  EXPECT_EQ(main_others(program({{1}, {1, 2}, {2, 3}, {}}, {0, 8, 64, 0}, {0, 1, 7, 0})), 7);
}

TEST(MainLoopTest, AnInnerLoopTakesThePlaceOfItsParent) {
  // The outer loop stages a tile and has a multiply-add for an address, the inner one multiplies.
  const Program staged =
      program({{1}, {2}, {2, 3}, {1, 4}, {}}, {0, 1, 64, 0, 0}, {0, 30, 9, 5, 0});
  const auto loop = main_loop(staged);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->counts.others(), 9);
  EXPECT_EQ(loop->counts.multiply_adds, 64 * 32);
  EXPECT_EQ(loop->first_line, 32u);
  EXPECT_EQ(loop->last_line, 104u);
  EXPECT_EQ(loop->outer_others, 30 + 5);
}

TEST(MainLoopTest, InnerLoopsThatShareTheWorkBelongToTheirParent) {
  // The last tile has a loop of its own, without a prefetch.
  const auto loop = main_loop(
      program({{1}, {2, 3}, {2, 4}, {3, 4}, {1, 5}, {}}, {0, 0, 64, 64, 0, 0}, {0, 9, 3, 4, 0, 0}));
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->counts.others(), 9 + 3 + 4);
  EXPECT_EQ(loop->outer_others, std::nullopt);
}

TEST(MainLoopTest, OfEqualWorkTheLoopWithTheFewestOthersIsTaken) {
  // A loop for whole tiles, and one with masks for the edges, which has one multiply-add more.
  EXPECT_EQ(main_others(program({{1, 2}, {1, 3}, {2, 3}, {}}, {0, 65, 64, 0}, {0, 90, 12, 0})), 12);
}

}  // namespace
}  // namespace rooftile
