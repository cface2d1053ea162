// Bank conflicts of a matrix kernel's tiles in shared memory, computed from the addresses of
// templates/matrix/shared_memory.glsl and staged.glsl. GPUs serve
// 128 bytes at a time from 32 banks of 4 bytes. An access of a subgroup is cut into groups of lanes
// of 128 bytes together; its conflict is the largest number of different words of one bank in a
// group: 1 is full speed.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "banks.h"
#include "generator/emit.h"
#include "generator/layout.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

/// The conflict of lanes that access `words` words each, from these addresses on, in words.
int conflict(const std::vector<int>& addresses, int words) {
  const std::size_t group = static_cast<std::size_t>(kBanks / words);
  int worst = 0;
  for (std::size_t first = 0; first < addresses.size(); first += group) {
    std::vector<int> together;
    for (std::size_t lane = first; lane < std::min(first + group, addresses.size()); ++lane)
      for (int w = 0; w < words; ++w) together.push_back(addresses[lane] + w);
    worst = std::max(worst, most_in_a_bank(together));
  }
  return worst;
}

struct Tile {
  int words_in_vector, stride, elements_in_word;  // stride of rows in words
};
Tile tile_of(const Variant& v, const Types& t) {
  const int elements = elements_per_word(v, t);
  return {shared_words(v, t), (v.tile_k + v.shared_pad) / elements, elements};
}

/// Matrix units load rows of a fragment: neighbouring lanes the same vector of neighbouring rows.
int fragment_conflict(const Variant& v, const Types& t) {
  const Tile tile = tile_of(v, t);
  std::vector<int> addresses;
  for (int row = 0; row < v.matrix_m; ++row) addresses.push_back(row * tile.stride);
  return conflict(addresses, tile.words_in_vector);
}

/// Operands along k: neighbouring lanes put neighbouring vectors of a row.
int put_conflict(const Variant& v, const Types& t) {
  const Tile tile = tile_of(v, t);
  const int vectors = v.tile_k / (v.vector_width_a * tile.elements_in_word);
  std::vector<int> addresses;
  for (int lane = 0; lane < v.subgroup_size; ++lane)
    addresses.push_back(lane / vectors * tile.stride + lane % vectors * v.vector_width_a);
  return conflict(addresses, v.vector_width_a);
}

/// Operands that are transposed on the way: neighbouring lanes put the same row of their vectors, and neighbouring groups of
/// steps.
int transposed_put_conflict(const Variant& v, const Types& t) {
  const Tile tile = tile_of(v, t);
  const int elements = v.vector_width_a * tile.elements_in_word;
  const int long_steps = tile.words_in_vector * tile.elements_in_word;
  const bool fills =
      v.tile_k % long_steps == 0 && v.tile_m / elements * (v.tile_k / long_steps) >= local_size(v);
  const int steps = fills ? long_steps : tile.elements_in_word, groups = v.tile_k / steps;
  const int words = steps / tile.elements_in_word;
  std::vector<int> addresses;
  for (int lane = 0; lane < v.subgroup_size; ++lane)
    addresses.push_back(lane / groups * elements * tile.stride + lane % groups * words);
  return conflict(addresses, words);
}

// The kernels of generator/priors/, and how many times slower than full speed they put tiles
// that they transpose.
const struct {
  const char* settings;
  const char* types;
  int transposed;
} kKernels[] = {
    {"tile_m=128 tile_n=128 tile_k=32 subgroup_m=64 subgroup_n=64 unroll_k=32 subgroup_size=64",
     "f16", 2},
    {"tile_m=128 tile_n=128 tile_k=16 subgroup_m=64 subgroup_n=64", "f16", 4},
    {"tile_m=128 tile_n=128 tile_k=32 subgroup_m=64 subgroup_n=32 unroll_k=32", "f16", 2},
    {"tile_k=32 unroll_k=32", "f16", 2},
    {"tile_m=128 tile_n=128 tile_k=64 subgroup_m=64 subgroup_n=64 matrix_k=32 unroll_k=32 "
     "shared_pad=16",
     "i8_i32", 2},
    {"tile_n=128 tile_k=32 subgroup_m=16 matrix_m=8 unroll_k=32 subgroup_size=16", "f16", 1},
    {"tile_m=128 tile_n=128 tile_k=32 subgroup_m=16 matrix_m=8 unroll_k=32 subgroup_size=16 "
     "vector_width_a=2 vector_width_b=2",
     "f16", 1},
    {"tile_k=16 subgroup_m=16 subgroup_n=16 matrix_m=8 matrix_n=8 subgroup_size=8", "f16", 1},
};

TEST(MatrixBanks, AConflictIsTheMostWordsOfABank) {
  EXPECT_EQ(conflict({0, 1, 2, 3}, 1), 1);
  EXPECT_EQ(conflict({0, 32, 64, 1}, 1), 3);
  EXPECT_EQ(conflict({0, 0, 0}, 1), 1) << "lanes that read one word share it";
  EXPECT_EQ(conflict({0, 4, 8, 12, 16, 20, 24, 28, 0, 4}, 4), 1);
  EXPECT_EQ(conflict({0, 16, 32}, 4), 2);
}

TEST(MatrixBanks, FragmentsAreReadAtFullSpeed) {
  for (const auto& [settings, types, transposed] : kKernels) {
    const Variant v = changed(matrix_point(), settings);
    EXPECT_EQ(fragment_conflict(v, parse_types(types)), 1) << settings;
    EXPECT_LE(put_conflict(v, parse_types(types)), 2) << settings;
    EXPECT_EQ(transposed_put_conflict(v, parse_types(types)), transposed) << settings;
  }
}

/// The conflict of storing a tile along k, by the row and the vector of each lane.
int permuted_put_conflict(const Variant& v, const Types& t) {
  const Tile tile = tile_of(v, t);
  const StoreRows rows = store_rows(v, t, v.vector_width_a, v.tile_m);
  const int vectors = v.tile_k / (v.vector_width_a * tile.elements_in_word);
  std::vector<int> addresses;
  for (int lane = 0; lane < v.subgroup_size; ++lane) {
    const int row = lane / vectors, i = row % (rows.together * rows.step);
    addresses.push_back((row - i + i % rows.together * rows.step + i / rows.together) *
                            tile.stride +
                        lane % vectors * v.vector_width_a);
  }
  return conflict(addresses, v.vector_width_a);
}

TEST(MatrixBanks, PermutedRowsAreStoredAtFullSpeed) {
  int mended = 0;
  for (const auto& [settings, types, transposed] : kKernels)
    for (const char* pad : {"", " shared_pad=16", " tile_k=16 unroll_k=16"}) {
      const Variant plain = changed(matrix_point(), std::string(settings) + pad),
                    v = changed(plain, "store_map=permuted");
      const Types t = parse_types(types);
      if (store_rows(v, t, v.vector_width_a, v.tile_m).step == 1) continue;
      EXPECT_EQ(permuted_put_conflict(v, t), 1) << settings << pad;
      EXPECT_EQ(permuted_put_conflict(plain, t), put_conflict(plain, t)) << settings << pad;
      if (put_conflict(plain, t) > 1) ++mended;
    }
  EXPECT_GE(mended, 5);
}

TEST(MatrixBanks, PermutedRowsAreAllRowsOfTheTile) {
  for (const StoreRows rows :
       {StoreRows{2, 4}, StoreRows{4, 2}, StoreRows{8, 1}, StoreRows{1, 1}}) {
    std::set<int> reached;
    for (int row = 0; row < 32; ++row) {
      const int i = row % (rows.together * rows.step);
      reached.insert(row - i + i % rows.together * rows.step + i / rows.together);
    }
    EXPECT_EQ(reached.size(), 32u);
    EXPECT_EQ(*reached.rbegin(), 31);
  }
}

TEST(MatrixBanks, RowsWithoutPaddingConflict) {
  const Variant v = changed(matrix_point(), "shared_pad=0 tile_k=64");
  EXPECT_EQ(fragment_conflict(v, parse_types("f16")), 8);
}

// The formulas above repeat these expressions.
TEST(MatrixBanks, AddressesAreThoseOfTheTemplates) {
  const std::string plain = emit_gemm(matrix_point(), {.types = parse_types("f16")}).glsl;
  EXPECT_THAT(plain, HasSubstr("SHARED_STRIDE = (TILE_K + SHARED_PAD) / SHARED_ELEMENTS"));
  EXPECT_THAT(plain, HasSubstr("SHARED_ELEMENTS = SHARED_WORDS * ELEMENTS_PER_WORD"));
  EXPECT_THAT(plain,
              HasSubstr("put_shared(a_tile[stage][at.x * SHARED_STRIDE + at.y], a_next[l])"));
  EXPECT_THAT(
      plain, HasSubstr("a_tile[stage][(row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS], BY_ROWS"));
  EXPECT_THAT(plain, HasSubstr("uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), "
                               "i % loads_in_row)"));
  EXPECT_THAT(plain, HasSubstr("const uint i = at.x % (together * step);"));
  EXPECT_THAT(plain, HasSubstr("at.x - i + i % together * step + i / together, at.y)"));
  const std::string turned =
      emit_gemm(matrix_point(), {.types = parse_types("f16"), .trans_a = Transpose::kYes}).glsl;
  EXPECT_THAT(turned, HasSubstr("a_tile[stage][(row + e) * SHARED_STRIDE + to / SHARED_WORDS]"));
  EXPECT_THAT(turned, HasSubstr("step_of_a(uint l) { return load_position(l, A_LOADS, "
                                "TILE_K / A_STEPS).y * A_STEPS; }"));
  EXPECT_THAT(turned, HasSubstr("row = vector_of_a(l) * ELEMENTS_A + w * ELEMENTS_PER_WORD"));
}

}  // namespace
}  // namespace rooftile
