// Bank conflicts in shared memory, lines of loads, and traffic with shared memory
// (generator/memory_access.h), against numbers that are counted by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "generator/emit.h"
#include "generator/layout.h"
#include "generator/memory_access.h"
#include "generator/space.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string text(const OperandAccess& of) {
  std::string all;
  for (const Access& x : {of.lines, of.stores, of.loads})
    if (x.fewest > 0) all += fmt::format("{}{}/{}", all.empty() ? "" : " ", x.taken, x.fewest);
  return all;
}
double stores(const MemoryAccess& x) { return std::max(x.a.stores.excess(), x.b.stores.excess()); }
double loads(const MemoryAccess& x) { return std::max(x.a.loads.excess(), x.b.loads.excess()); }
MemoryAccess access_of(const Variant& v, const std::string& signature) {
  const Signature s = parse_signature(signature);
  EXPECT_EQ(illegal_reason(v, matrix_limits(), s).value_or(""), "") << to_string(v) << signature;
  return memory_access(v, s);
}

constexpr const char* kBroadcast =
    "family=broadcast tile_m=16 tile_n=256 reg_m=16 reg_n=8 vector_width_a=4 vector_width_b=4 "
    "unroll_k=8 raster=column subgroup_size=32";
constexpr const char* kVector =
    "family=vector tile_m=1 tile_n=8 tile_k=512 reg_m=1 reg_n=1 vector_width_a=4 vector_width_b=4 "
    "stage=shared unroll_k=16";
constexpr const char* kTiled =
    "family=tiled tile_m=64 tile_n=64 tile_k=16 reg_m=4 reg_n=4 vector_width_a=4 vector_width_b=4 "
    "stage=shared shared_pad=4 unroll_k=16";
constexpr const char* kMatrix =
    "family=matrix tile_m=128 tile_n=128 tile_k=32 subgroup_m=64 subgroup_n=64 matrix_m=16 "
    "matrix_n=16 matrix_k=16 unroll_k=32 vector_width_a=4 vector_width_b=4 stage=stored "
    "shared_pad=8 prefetch=ahead subgroup_size=32";
constexpr const char* kBatched =
    "family=batched_small tile_m=16 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
    "vector_width_b=4 tile_batch=4";

// Of A and of B: lines of a load; wavefronts of a store and of a load where there is a tile. The
// first number is what is taken, the second the fewest.
TEST(MemoryAccess, IsCountedOverASubgroup) {
  const struct {
    Variant v;
    const char *settings, *signature, *a, *b;
  } kCases[] = {
      {naive_point(), "", "f32.nn", "2/1", "1/1"},  // 2 x 16 invocations
      {naive_point(), "", "f32.nt", "2/1", "16/1"},
      {naive_point(), "raster=column", "f32.nn", "8/1", "1/1"},
      {register_point(), "raster=row", "f32.nn", "2/1", "1/1"},  // 2 x 8
      {register_point(), "raster=row", "f32.nt", "2/1", "8/1"},
      {register_point(), "packed_a=yes packed_b=yes", "f32.nn", "1/1", "1/1"},
      {parse_variant(kBatched), "", "f32.nn", "8/1", "2/1"},  // 4 rows of two matrices
      {parse_variant(kBroadcast), "", "f32.nn", "1/1", "4/4"},
      {parse_variant(kBroadcast), "", "f32.nt", "1/1", "32/4"},
      {parse_variant(kBroadcast), "packed_a=yes packed_b=yes stage=subgroup", "f32.nt", "4/4",
       "4/4"},
      // Each of 32 lanes along k reads its own 64 bytes of A, until they share A.
      {parse_variant(kVector), "", "f32.nt", "16/4", "16/4"},
      {parse_variant(kVector), "stage=stored", "f32.nt", "4/4 8/4 4/4", "16/4"},
      {parse_variant(kVector), "", "f32.nn", "2/1", "4/1"},  // 8 columns, 4 steps
      // Runs of two vectors of a row: their elements go to 32 banks, if rows are padded.
      {parse_variant(kTiled), "", "f32.nt", "16/4 1/1 4/4", "16/4 1/1 4/4"},
      {parse_variant(kTiled), "shared_pad=0", "f32.nt", "16/4 2/1 4/4", "16/4 2/1 4/4"},
      {parse_variant(kTiled), "", "f32.tn", "4/4 4/4 4/4", "4/4 4/4 4/4"},
      {parse_variant(kTiled), "vector_width_a=1", "f32.nn", "2/1 2/1 4/4", "4/4 4/4 4/4"},
      {parse_variant(kTiled), "", "f16_f16_sum_f16.nn", "16/2 1/1 2/2", "2/2 2/2 2/2"},
      // The 8 values of a word go to one column, those of the next word 8 steps further.
      {parse_variant(kTiled), "tile_k=32", "f32xq4b32.nt", "16/4 1/1 4/4", "16/1 2/1 4/4"},
      // Words of four 8-bit integers: those of 32 steps of four rows, and of two groups of a block.
      {parse_variant(kTiled), "tile_k=64 stage=stored", "f32xq4_k_int8.nt", "4/4 1/1 4/4",
       "8/2 2/1 4/4"},
      {parse_variant(kTiled), "tile_k=32 stage=stored", "f32xq4b32_int8.nt", "4/4 1/1 4/4",
       "16/1 2/1 4/4"},
      // Rows of 64 bytes are padded to 80: two of them, 128 bytes, are stored together.
      {parse_variant(kMatrix), "", "f16_f16.nt", "8/4 8/4 2/2", "8/4 8/4 2/2"},
      {parse_variant(kMatrix), "store_map=permuted", "f16_f16.nt", "8/4 4/4 2/2", "8/4 4/4 2/2"},
      {parse_variant(kMatrix), "shared_pad=16", "f16_f16.nt", "8/4 8/4 4/2", "8/4 8/4 4/2"},
      {parse_variant(kMatrix), "tile_k=64 shared_pad=0", "f16_f16.nt", "4/4 4/4 16/2",
       "4/4 4/4 16/2"},
      {parse_variant(kMatrix), "", "f16_f16.tn", "4/4 4/4 2/2", "4/4 4/4 2/2"},
      {parse_variant(kMatrix), "vector_width_b=1", "f16xq4b32.nt", "8/4 8/4 2/2", "8/1 8/4 2/2"},
      {parse_variant(kMatrix), "load_path_a=direct packed_a=yes", "f16_f16.nt", "", "8/4 8/4 2/2"},
  };
  for (const auto& [v, settings, signature, a, b] : kCases) {
    const MemoryAccess access = access_of(changed(v, settings), signature);
    EXPECT_EQ(text(access.a), a) << to_string(v) << settings << signature;
    EXPECT_EQ(text(access.b), b) << to_string(v) << settings << signature;
  }
}

TEST(BankConflicts, NoKernelOfTheSpaceButMatrixHasMoreThanTwo) {
  std::size_t tried = 0, padded = 0;
  for (const Variant& v : legal_variants(discrete_limits()))
    for (const Signature& s : all_signatures()) {
      if (!uses_shared_memory(v) || illegal_reason(v, discrete_limits(), s)) continue;
      ++tried;
      const MemoryAccess x = memory_access(v, s);
      EXPECT_EQ(loads(x), 1) << to_string(v);
      EXPECT_LE(stores(x), 2) << to_string(v);
      if (v.family != Family::kTiled || v.shared_pad < 4 || v.vector_width_a != 4) continue;
      ++padded;
      EXPECT_EQ(stores(x), 1) << to_string(v);
    }
  EXPECT_GT(tried, 1000u);
  EXPECT_GT(padded, 500u);
}

TEST(SharedTraffic, IsWhatAnInvocationOrASubgroupLoadsForItsBlock) {
  EXPECT_EQ(access_of(parse_variant(kTiled), "f32.nn").shared_bytes, 2 * 4 / 4.0);
  EXPECT_EQ(access_of(changed(parse_variant(kTiled), "dot=4"), "i8_i32.nt").shared_bytes, 0.5);
  EXPECT_EQ(access_of(changed(parse_variant(kTiled), "tile_k=64 stage=stored"), "f32xq8_0_int8.nt")
                .shared_bytes,
            0.5);
  EXPECT_EQ(access_of(parse_variant(kMatrix), "f16_f16.nt").shared_bytes, 2 * 2 / 64.0);
  EXPECT_EQ(access_of(parse_variant(kVector), "f32.nt").shared_bytes, 0);
  const Variant two_columns = changed(parse_variant(kVector), "stage=stored reg_n=2");
  EXPECT_EQ(access_of(two_columns, "f32.nt").shared_bytes, 4 / 2.0);
}

// The kernels of generator/priors/, and how many times slower than full speed they store tiles that
// they transpose.
const struct {
  const char *settings, *types;
  int transposed;
} kPriors[] = {
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

TEST(BankConflicts, PriorsReadFragmentsAtFullSpeedAndStoreTilesAtHalfOfIt) {
  int mended = 0;
  for (const auto& [settings, types, transposed] : kPriors)
    for (const char* pad : {"", " shared_pad=16", " tile_k=16 unroll_k=16"}) {
      const Variant plain = changed(matrix_point(), std::string(settings) + pad),
                    v = changed(plain, "store_map=permuted");
      const Signature along_k{.types = parse_types(types)},
          across_k{.types = along_k.types, .trans_a = Transpose::kYes};
      const double conflicts = memory_access(plain, along_k).a.stores.excess();
      if (*pad == '\0') {
        EXPECT_EQ(loads(memory_access(plain, along_k)), 1) << settings;
        EXPECT_LE(conflicts, 2) << settings;
        EXPECT_EQ(memory_access(plain, across_k).a.stores.excess(), transposed) << settings;
      }
      if (store_rows_a(v, along_k).step == 1) continue;
      EXPECT_EQ(memory_access(v, along_k).a.stores.excess(), 1) << settings << pad;
      if (conflicts > 1) ++mended;
    }
  EXPECT_GE(mended, 5);
}

TEST(BankConflicts, PriorsWithTilesOfEightBitsHaveNone) {
  for (const char* settings : {"tile_m=64 reg_m=4", "tile_m=128 reg_m=8"})
    for (const char* types : {"f32xq4_k_int8.nt", "f32xq8_0_int8.nt", "f32xq6_k_int8.nt"}) {
      const MemoryAccess x = access_of(
          changed(parse_variant(kTiled),
                  std::string(settings) + " tile_n=128 tile_k=32 reg_n=8 unroll_k=32 stage=stored"),
          types);
      EXPECT_EQ(loads(x), 1) << settings;
      EXPECT_EQ(stores(x), 1) << settings;
    }
}

TEST(BankConflicts, PermutedRowsAreAllRowsOfTheTile) {
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

// generator/memory_access.cpp repeats these expressions.
TEST(MemoryAccess, AddressesAreThoseOfTheTemplates) {
  const auto emitted = [](const Variant& v, const char* signature) {
    return emit_gemm(v, parse_signature(signature)).glsl;
  };
  EXPECT_THAT(
      emitted(naive_point(), "f32.nn"),
      HasSubstr("uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N)"));
  EXPECT_THAT(emitted(register_point(), "f32.nt"),
              AllOf(HasSubstr("tile.y * TILE_M + lane.y * REG_M"),
                    HasSubstr("tile.x * TILE_N + lane.x * VECTOR_WIDTH_C")));
  EXPECT_THAT(
      emitted(parse_variant(kVector), "f32.nt"),
      AllOf(HasSubstr("lane_k = K_FASTEST == 1 ? gl_LocalInvocationIndex % LANES_K"),
            HasSubstr("first_step = lane_k * UNROLL_K"), HasSubstr("lane_mn / LANES_N * REG_M"),
            HasSubstr("clamp_index(row + i, m - 1) * lda + first_step) / VECTOR_WIDTH_A")));
  EXPECT_THAT(emitted(changed(parse_variant(kVector), "stage=stored"), "f32.nt"),
              AllOf(HasSubstr("a_tile[a_load(l) / A_RUN * A_STRIDE + a_load(l) % A_RUN]"),
                    HasSubstr("a_place = lane_k * A_STRIDE")));
  EXPECT_THAT(
      emitted(parse_variant(kTiled), "f32.nt"),
      AllOf(HasSubstr("A_RUN = VECTOR_WIDTH_A == 4 && A_VECTORS % 2 == 0 ? 2 : A_VECTORS"),
            HasSubstr("uvec2(self % run + self / all_lines * run + l * runs * run, self / run %"),
            HasSubstr("uvec2(block % (LANES_N / 8) * 8 + in_block % 8, block / (LANES_N / 8) * 4"),
            HasSubstr("a_slot[l] = v.x * VECTOR_WIDTH_A * A_STEP + v.y / 4"),
            HasSubstr("a_tile[a_stage + (step + u) * A_STEP + lane.y + i * VECTOR_STRIDE_M]")));
  EXPECT_THAT(
      emitted(matrix_point(), "f16_f16.nn"),
      AllOf(HasSubstr("SHARED_STRIDE = (TILE_K + SHARED_PAD) / SHARED_ELEMENTS"),
            HasSubstr("put_shared(a_tile[stage][at.x * SHARED_STRIDE + at.y], a_next[l])"),
            HasSubstr("a_tile[stage], (row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, "),
            HasSubstr("CooperativeMatrixLayoutRowMajor, SHARED_STRIDE, NonPrivate)"),
            HasSubstr("uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), i % loads_in_"),
            HasSubstr("b_tile[stage][(column + e) * SHARED_STRIDE + to / SHARED_WORDS]"),
            HasSubstr("step_of_b(uint l) { return load_position(l, B_LOADS, TILE_K / B_STEPS).y * "
                      "B_STEPS; }"),
            HasSubstr("column = vector_of_b(l) * ELEMENTS_B + w * ELEMENTS_PER_WORD")));
  EXPECT_THAT(emitted(changed(matrix_point(), "store_map=permuted"), "f16_f16.nn"),
              AllOf(HasSubstr("const uint i = at.x % (together * step);"),
                    HasSubstr("at.x - i + i % together * step + i / together, at.y)")));
  EXPECT_THAT(emitted(parse_variant(kMatrix), "f16_f16.nn"),
              HasSubstr("put_shared(b_tile[stage][at.x * B_STRIDE + at.y], b_next[l])"));
}

}  // namespace
}  // namespace rooftile
