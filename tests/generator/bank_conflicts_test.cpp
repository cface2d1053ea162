// Shared memory of GPUs has 32 banks of 4 bytes: the accesses that one step serves must go to
// different banks or to the same address. Invocations and addresses are those of templates/tile/
// and templates/tiled.comp.
#include <gtest/gtest.h>

#include <algorithm>

#include "banks.h"
#include "generator/layout.h"
#include "generator/space.h"
#include "test_limits.h"

namespace rooftile {
namespace {

constexpr int kSubgroup = 32;    // invocations that access shared memory together
constexpr int kVectorLanes = 8;  // of them, those whose vectors of four are served in one step

struct Position {
  int x, y;
};

/// lane_in_tile() of templates/tiled.comp: x along n and y along m, in vectors.
Position lane_in_tile(const Variant& v, int self) {
  const int lanes_n = v.tile_n / v.reg_n;
  if (has_subgroup_tiles(v)) {
    const int stride_m = v.subgroup_m / v.reg_m, stride_n = v.subgroup_n / v.reg_n;
    const int in_block = self % (stride_m * stride_n), block = self / (stride_m * stride_n);
    const int blocks_n = v.tile_n / v.subgroup_n;
    return {block % blocks_n * (v.subgroup_n / 4) + in_block % stride_n,
            block / blocks_n * (v.subgroup_m / 4) + in_block / stride_n};
  }
  if (!lanes_in_blocks(v)) return {self % lanes_n, self / lanes_n};
  const int in_block = self % 32, block = self / 32;
  return {block % (lanes_n / 8) * 8 + in_block % 8, block / (lanes_n / 8) * 4 + in_block / 8};
}

/// load_position() of templates/tiled.comp for l = 0.
Position load_position(int self, int run, int lines) {
  return {self % run + self / (run * lines) * run, self / run % lines};
}

/// The conflicts of reading both tiles for a multiplication.
int read_conflicts(const Variant& v) {
  int most = 0;
  for (int first = 0; first < local_size(v); first += kVectorLanes) {
    std::vector<int> a, b;
    for (int lane = first; lane < std::min(first + kVectorLanes, local_size(v)); ++lane) {
      const Position at = lane_in_tile(v, lane);
      for (int w = 0; w < 4; ++w) {
        a.push_back(4 * at.y + w);
        b.push_back(4 * at.x + w);
      }
    }
    most = std::max({most, most_in_a_bank(a), most_in_a_bank(b)});
  }
  return most;
}

/// The conflicts of writing `lines` lines, whose elements along k come in vectors of `width`, one
/// element of each at a time.
int transposing_conflicts(const Variant& v, int lines, int width, int run) {
  int most = 0;
  for (int first = 0; first < local_size(v); first += kSubgroup) {
    std::vector<int> words;
    for (int lane = first; lane < std::min(first + kSubgroup, local_size(v)); ++lane) {
      const Position at = load_position(lane, run, lines);
      words.push_back(at.x * width * (lines + v.shared_pad) + at.y);
    }
    most = std::max(most, most_in_a_bank(words));
  }
  return most;
}

/// $A_RUN of templates/tile/operand.glsl.
int vectors_in_run(int vectors, int width) { return width == 4 && vectors % 2 == 0 ? 2 : vectors; }

TEST(BankConflicts, NoTiledKernelOfTheSpaceReadsWithConflicts) {
  std::size_t tried = 0;
  for (const Variant& v : legal_variants(discrete_limits())) {
    if (v.family != Family::kTiled) continue;
    ++tried;
    EXPECT_EQ(read_conflicts(v), 1) << to_string(v);
  }
  EXPECT_GT(tried, 100u);
}

TEST(BankConflicts, NoVectorKernelOfTheSpaceReadsAWithConflicts) {
  std::size_t tried = 0;
  for (const Variant& v : legal_variants(discrete_limits())) {
    if (!shares_a(v)) continue;
    ++tried;
    ASSERT_EQ(v.vector_width_a, 4);
    std::vector<int> words;
    for (int lane = 0; lane < std::min(kVectorLanes, lanes_k(v)); ++lane)
      for (int w = 0; w < 4; ++w) words.push_back(4 * lane * vectors_of_lane(v) + w);
    EXPECT_EQ(most_in_a_bank(words), 1) << to_string(v);
  }
  EXPECT_GT(tried, 10u);
}

TEST(BankConflicts, APadOfFourKeepsTransposingWritesFreeOfThem) {
  std::size_t tried = 0;
  for (const Variant& v : legal_variants(discrete_limits())) {
    if (v.family != Family::kTiled || v.dot > 1 || v.vector_width_a != 4 || v.tile_k % 8 != 0)
      continue;
    const int run = vectors_in_run(v.tile_k / 4, 4);
    const int a = transposing_conflicts(v, v.tile_m, 4, run),
              b = transposing_conflicts(v, v.tile_n, 4, run);
    if (v.shared_pad == 4) {
      ++tried;
      EXPECT_EQ(a, 1) << to_string(v);
      EXPECT_EQ(b, 1) << to_string(v);
    } else {
      EXPECT_LE(std::max(a, b), 2) << to_string(v);
    }
  }
  EXPECT_GT(tried, 50u);
}

// Eight values of a word go to one column: two words of a run are 8 steps apart.
TEST(BankConflicts, WordsOfAQuantisedTileMeetTwoAtMost) {
  for (int tile_k : {16, 32, 64}) {
    const Variant v = changed(tiled_point(), "tile_m=64 tile_n=64 reg_m=4 reg_n=4 shared_pad=4");
    EXPECT_LE(transposing_conflicts(v, v.tile_n, 8, 2), 2) << tile_k;
    EXPECT_EQ(transposing_conflicts(v, v.tile_n, 8, tile_k / 8), tile_k / 8) << tile_k;
  }
}

}  // namespace
}  // namespace rooftile
