// Injects errors of each kind into kernels of every family; certification rejects all of them.
// Mutants of matrix kernels are in certify_matrix_test.cpp.
#include <fmt/format.h>

#include "certify_fixture.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

enum class Target : std::uint8_t { kGemm, kPackA, kPackB, kReduce };

struct Mutant {
  const char* what;
  const char* from;
  const char* to;
  Signature signature = {};
  Target target = Target::kGemm;
};

class CertifyMutantsTest : public CertifyFixture {
 protected:
  void expect_refused(const std::string& variant_text, const std::vector<Mutant>& mutants) {
    const Variant variant = parse_variant(variant_text);
    for (const Mutant& m : mutants) {
      const Certificate result =
          mutant(variant, m.signature, shader(variant, m.signature, m.target), m.from, m.to);
      EXPECT_FALSE(result.passed) << short_name(variant) << ": " << m.what;
      EXPECT_NE(result.detail, "") << "certification did not reject the result";
    }
  }

 private:
  static Shader shader(const Variant& v, const Signature& s, Target target) {
    switch (target) {
      case Target::kPackA:
        return emit_pack(v, s, Operand::kA);
      case Target::kPackB:
        return emit_pack(v, s, Operand::kB);
      case Target::kReduce:
        return emit_reduce(s);
      case Target::kGemm:
        break;
    }
    return emit_gemm(v, s);
  }
};

const Signature kTransposedA = {.trans_a = kYes}, kTransposedB = {.trans_b = kYes};

TEST_F(CertifyMutantsTest, RegisterMutantsAreRefused) {
  expect_refused(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4",
      {{"last row of A read at the one before", "clamp_index(row + i, m - 1)",
        "clamp_index(row + i, m - 2)"},
       {"row beyond the edge of C stored", "row + row_offset(i) < m", "row + row_offset(i) <= m"},
       {"column beyond the edge of C stored", "w < columns", "w <= columns"},
       {"vector stored over the edge of C", "(tile.x + 1) * TILE_N <= n", "tile.x * TILE_N <= n"},
       {"vectors stored where C is not aligned", "(ldc | offset_c) % VECTOR_WIDTH_C == 0", "true"},
       {"last steps of k left out", "k0 < k; k0 += TAIL_K", "k0 + 1 < k; k0 += TAIL_K"},
       {"trip that reaches beyond k", "k0 + UNROLL_K <= k", "k0 + UNROLL_K <= k + 1"},
       {"nothing zeroed beyond k", "steps_left(step * VECTOR_WIDTH_A)", "VECTOR_WIDTH_A"},
       {"rows of A taken as packed", "clamp_index(row + i, m - 1) * lda",
        "clamp_index(row + i, m - 1) * (depth / 4 * 4)"},
       {"stride of the batch forgotten", "batch_index * stride_a", "0 * stride_a"},
       {"beta read at 0, by vectors", "if (beta != 0.0) old = RESULT(beta) * load_c_vector",
        "old = RESULT(beta) * load_c_vector"},
       {"beta forgotten, by vectors", "RESULT(beta) * load_c_vector", "load_c_vector"},
       {"alpha on C as well", "alpha * sum + old", "alpha * (sum + old)"}});
}

TEST_F(CertifyMutantsTest, TransposeMutantsAreRefused) {
  expect_refused(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4",
      {{"rows of a transposed A by B's stride", "a_stride = lda / VECTOR_WIDTH_A",
        "a_stride = ldb / VECTOR_WIDTH_A", kTransposedA},
       {"block of A not turned", "a_fragment[u][i / VECTOR_WIDTH_A]",
        "a_fragment[i][u / VECTOR_WIDTH_A]", kTransposedA},
       {"columns of a transposed B by A's stride",
        "clamp_index(column + column_offset(j), n - 1) * ldb",
        "clamp_index(column + column_offset(j), n - 1) * lda", kTransposedB},
       {"step of k off by one in a transposed A", "(min(step, k - 1) - first_step)",
        "(min(step + 1, k - 1) - first_step)", kTransposedA},
       {"all steps of a whole trip of a transposed A alike", "walked += a_stride", "",
        kTransposedA},
       {"every whole trip at the same steps of B", "b_walked = LANES_K == 1 ? walked : b_walked",
        "b_walked = LANES_K == 1 ? 0 : 0"}});
}

// Workgroups have eight subgroups: a software device runs one subgroup after the other up to the
// barrier.
TEST_F(CertifyMutantsTest, TiledMutantsAreRefused) {
  expect_refused(
      "family=tiled tile_m=64 tile_n=32 tile_k=8 reg_m=8 reg_n=4 unroll_k=4 stage=shared "
      "vector_width_a=4 vector_width_b=4",
      {{"no barrier before a tile is read", "while (true) {\n    barrier();", "while (true) {"},
       {"no barrier before a tile is overwritten", "fetch_tile_b(k0);\n    barrier();",
        "fetch_tile_b(k0);"},
       {"last row of the tile read at the one before", "clamp_index(row0 + v.y, m - 1)",
        "clamp_index(row0 + v.y, m - 2)"},
       {"columns of the tile by the wrong edge", "v.x, (n - 1) / VECTOR_WIDTH_B",
        "v.x, (m - 1) / VECTOR_WIDTH_B"},
       {"nothing zeroed beyond k", "steps_left(step * VECTOR_WIDTH_A)", "VECTOR_WIDTH_A"},
       {"rows of the block too close", "lane.y + i * VECTOR_STRIDE_M", "lane.y + i"},
       {"a step of the tile left out", "step < TILE_K; step += UNROLL_K",
        "step + UNROLL_K < TILE_K; step += UNROLL_K"},
       {"turned into the wrong row of the tile", "* A_STEP + v.y / 4", "* A_STEP + (v.y / 4 ^ 1)"},
       {"turned into the wrong component", "a_part[l] = v.y % 4", "a_part[l] = v.y % 4 ^ 1"}});
}

// The last tile along k is multiplied first, with masks; whole tiles follow without them.
TEST_F(CertifyMutantsTest, WholeTilesMutantsAreRefused) {
  const std::string variant =
      "family=tiled tile_m=32 tile_n=32 tile_k=8 reg_m=4 reg_n=4 unroll_k=8 stage=shared "
      "vector_width_a=4 vector_width_b=4";
  const std::vector<Mutant> mutants = {
      {"last tile at the first steps", "fetch_last_b(last)", "fetch_last_b(0)"},
      {"last whole tile left out", "a_next[l] = fetch_a(a_address[l] + k0 / VECTOR_WIDTH_A)",
       "a_next[l] = fetch_a(a_address[l])"},
      {"every whole tile of B at the same steps", "b_walked += b_tile_stride", ""},
      {"tiles of B by A's stride", "TILE_K * (ldb / VECTOR_WIDTH_B)",
       "TILE_K * (lda / VECTOR_WIDTH_B)"},
      {"steps of the last tile of B off by one", "clamp_index(k0 + y, k - 1)",
       "clamp_index(k0 + y + 1, k - 1)"},
      {"columns of a transposed B not clamped to its own", "clamp_index(column0 + v.y, n - 1)",
       "clamp_index(column0 + v.y, n - 2)", kTransposedB},
      {"rows of a transposed A by the wrong edge", "v.x, (m - 1) / VECTOR_WIDTH_A",
       "v.x, (n - 1) / VECTOR_WIDTH_A", kTransposedA}};
  expect_refused(variant, mutants);
  expect_refused(variant, {{"a whole tile too few", "if (k0 == last) break;",
                            "if (k0 + TILE_K >= last) break;"}});
  expect_refused(variant + " stages=2", mutants);
}

TEST_F(CertifyMutantsTest, DoubleBufferingMutantsAreRefused) {
  expect_refused(
      "family=tiled tile_m=32 tile_n=32 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared stages=2 "
      "vector_width_a=4 vector_width_b=4",
      {{"stale tile at the end", "barrier();\n  }\n  multiply_tile(a_stage, b_stage);",
        "barrier();\n  }\n  multiply_tile(A_STAGE - a_stage, b_stage);"},
       {"tile overwritten while it is read", "b_stage = B_STAGE - b_stage;", ""},
       {"no barrier before the next tile", "put_tile_b(b_stage);\n    barrier();",
        "put_tile_b(b_stage);"},
       {"tile of A of the wrong stage", "a_stage + (step + u) * A_STEP", "(step + u) * A_STEP"},
       {"last whole tile left out", "k0 < last; k0 += TILE_K",
        "k0 + TILE_K < last; k0 += TILE_K"}});
}

TEST_F(CertifyMutantsTest, VectorMutantsAreRefused) {
  expect_refused(
      "family=vector tile_m=1 tile_n=8 tile_k=64 reg_m=1 reg_n=4 unroll_k=4 stage=shared "
      "vector_width_a=4 vector_width_b=4",
      {{"no barrier among the lanes' sums", "barrier();\n      if (lane_k", "if (lane_k"},
       {"sum of the wrong lane", "half_lanes * step", "half_lanes"},
       {"half of the sums left out", "half_lanes = LANES_K / 2", "half_lanes = LANES_K / 4"},
       {"stored by the wrong lane", "if (lane_k == 0)", "if (lane_k == 1)"},
       {"all lanes begin alike", "first_step = lane_k * UNROLL_K", "first_step = 0"},
       {"a trip of all lanes beyond k", "k0 + TILE_K <= k", "k0 + UNROLL_K <= k"},
       {"end of k left out", "first_step + k0 + u < k", "first_step + k0 + u + TAIL_K < k"},
       {"tail of the next lane as well", "u < UNROLL_K && first_step", "first_step"},
       {"trips of B at the steps of the lane before", "b_trip = LANES_K * UNROLL_K * b_stride",
        "b_trip = (LANES_K - 1) * UNROLL_K * b_stride"},
       {"trips of a transposed A too far apart", "LANES_K * UNROLL_K * a_stride",
        "(LANES_K + 1) * UNROLL_K * a_stride", kTransposedA},
       {"rows of a transposed B from the first lane's step", "* ldb + first_step", "* ldb",
        kTransposedB}});
}

// Workgroups have eight subgroups of lavapipe's.
TEST_F(CertifyMutantsTest, MutantsThatReadAFromSharedMemoryAreRefused) {
  expect_refused(
      "family=vector tile_m=2 tile_n=8 tile_k=64 reg_m=2 reg_n=1 unroll_k=8 stage=stored "
      "vector_width_a=4 vector_width_b=4",
      {{"no barrier before A is read", "a_next[l];\n  barrier();", "a_next[l];"},
       {"no barrier before A is overwritten", "void put_tile_a() {\n  barrier();",
        "void put_tile_a() {"},
       {"last row of A read at the one before", "A_VECTORS, m - 1)", "A_VECTORS, m - 2)"},
       {"nothing zeroed beyond k", "steps_left(step))", "VECTOR_WIDTH_A)"},
       {"every trip at the first steps", "fetch_tile_a(k0 + TILE_K)", "fetch_tile_a(TILE_K)"},
       {"all vectors of a run in one place", "A_STRIDE + a_load(l) % A_RUN",
        "A_STRIDE + a_load(l) % 1"},
       {"lanes' steps without the pad", "a_place = lane_k * A_STRIDE; }",
        "a_place = lane_k * A_RUN; }"},
       {"end of k at the lane's first steps", "+ k0 % TILE_K / VECTOR_WIDTH_A", ""},
       {"rows of the tile too close", "a_tile[i * LANES_K * A_STRIDE", "a_tile[i * A_STRIDE"},
       {"what is left of k not put", "if (k0 < k) put_tile_a();", ""}});
}

// Kernels that read blocks are tested for what they make of B's words. So they load A and B as
// texels, which lavapipe compiles in a third of the time.
const std::string kTexels = " vector_width_a=4 load_path_a=texel load_path_b=texel";

Signature of(const char* types) { return {.types = parse_types(types), .trans_b = kYes}; }

TEST_F(CertifyMutantsTest, MutantsThatLoadBlocksAheadAreRefused) {
  const Signature parts = of("f32xq4_k"), windows = of("f32xq8_0");
  expect_refused(
      "family=vector tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=2 unroll_k=64 stage=stored "
      "vector_width_b=4 prefetch=ahead" + kTexels,
      {{"every trip's words those of the second", "fetch_column(j, k0 + TILE_K)",
        "fetch_column(j, TILE_K)", parts},
       {"first trip not loaded", "  fetch_first_trip();", "", parts},
       {"last whole trip not loaded", "k0 + 2 * TILE_K <= k", "k0 + 2 * TILE_K < k", parts},
       {"one column's words for all", "next_load = j * AHEAD_LOADS;\n  load_column",
        "next_load = 0;\n  load_column", parts},
       {"one column's windows for all", "next_load = j * AHEAD_LOADS;\n  load_column",
        "next_load = 0;\n  load_column", windows},
       {"what is left of k from the words of a trip", "words_from = AT_ONCE;\n    load", "load",
        parts},
       {"what is left of k from the windows of a trip", "words_from = AT_ONCE;\n    load", "load",
        windows},
       {"exponent of another bit", "exponents[b / 4] |", "exponents[(b + 4) / 4] |", windows},
       {"zero not zero", "n == 0 ? 1", "n != 0 ? 1", parts}});
}

TEST_F(CertifyMutantsTest, BatchedSmallMutantsAreRefused) {
  expect_refused(
      "family=batched_small tile_m=8 tile_n=8 reg_m=4 reg_n=4 unroll_k=4 tile_batch=2",
      {{"one product for the whole workgroup", "+ gl_LocalInvocationID.y", ""},
       {"one product too many", "z >= batch", "z > batch"},
       {"B of the product before", "batch_index * stride_b", "max(batch_index, 1u) * stride_b"},
       {"C of the first product", "z * stride_c", "0u * stride_c"}});
}

TEST_F(CertifyMutantsTest, SplitKMutantsAreRefused) {
  expect_refused(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 split_k=3",
      {{"parts overlap", "z / batch * split_depth", "z / batch * (split_depth - 1)"},
       {"last part longer than the rest", "min(depth - first_step, split_depth)", "split_depth"},
       {"last part not added", "p < partials", "p + 1 < partials", {}, Target::kReduce},
       {"parts of another product",
        "(p * batch + batch_index) * m",
        "(p * batch) * m",
        {},
        Target::kReduce},
       {"rows of parts as in C", "* vectors + x]", "* (n / 4) + x]", {}, Target::kReduce},
       {"edge of C overrun", "x * 4 + w < n", "x * 4 + w <= n", {}, Target::kReduce},
       {"beta read at 0",
        "if (beta != 0.0) old = RESULT(beta) * load_c(",
        "old = RESULT(beta) * load_c(",
        {},
        Target::kReduce}});
}

TEST_F(CertifyMutantsTest, PackingMutantsAreRefused) {
  expect_refused(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes",
      {{"panels of A without their padding", "row / TILE_M * (TILE_M * padded_k)",
        "row / TILE_M * (TILE_M * k)"},
       {"panels of B without their padding", "column / TILE_N * (TILE_N * padded_k)",
        "column / TILE_N * (TILE_N * k)"},
       {"padding of a panel not zeroed",
        "inside ? depth - step : 0",
        "inside ? 4 : 0",
        {},
        Target::kPackA},
       {"a panel runs into the next",
        "row / PANEL_ROWS * (PANEL_ROWS * padded_depth)",
        "row / PANEL_ROWS * (PANEL_ROWS * (padded_depth - 4))",
        {},
        Target::kPackA},
       {"last rows not packed",
        "const uint count = strided_extent(padded_rows, padded_depth) / 4",
        "const uint count = strided_extent(rows, padded_depth) / 4",
        {},
        Target::kPackA},
       {"packed from the wrong row",
        "min(row + r, rows - 1) * ld",
        "min(row + r, rows - 1) * depth",
        {},
        Target::kPackA},
       {"columns of a panel swapped",
        "panels[panel_index + u * (PANEL_ROWS / 4)] = transposed[u]",
        "panels[panel_index + u * (PANEL_ROWS / 4)] = transposed[u].yxzw",
        {},
        Target::kPackB},
       {"panels of the first product",
        "batch_index * panel_stride",
        "0 * panel_stride",
        {},
        Target::kPackB}});
}

TEST_F(CertifyMutantsTest, BroadcastMutantsAreRefused) {
  const std::uint32_t lanes = device_->profile().limits.subgroup_size;
  const std::string variant = fmt::format(
      "family=broadcast tile_m=16 tile_n={} reg_m=16 reg_n=8 unroll_k=8 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel packed_a=yes packed_b=yes "
      "raster=column subgroup_size={}",
      8 * lanes, lanes);
  expect_refused(variant,
                 {{"tiles run through the wrong way", "tile.y * TILE_M", "tile.x * TILE_M"},
                  {"vector of A of the next row", "(i * (UNROLL_K / VECTOR_WIDTH_A) + v)",
                   "((i ^ 1) * (UNROLL_K / VECTOR_WIDTH_A) + v)"}});
  expect_refused(variant + " stage=subgroup",
                 {{"every lane reads the first vector", "/ 4 + gl_SubgroupInvocationID", "/ 4"},
                  {"vector of the wrong lane", "subgroupBroadcast(own, lane)",
                   "subgroupBroadcast(own, (lane) ^ 1)"},
                  {"steps of k out of turn", "first = 4 * vector_index % UNROLL_K",
                   "first = 4 * (vector_index ^ 1) % UNROLL_K"}});
}

TEST_F(CertifyMutantsTest, RasterMutantsAreRefused) {
  expect_refused(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 raster=grouped4",
      {{"last rows of tiles left out", "min(tiles.y - first_row, RASTER_GROUP)", "RASTER_GROUP"},
       {"a tile twice and another never", "within / rows", "within / RASTER_GROUP"}});
}

TEST_F(CertifyMutantsTest, VectorEpilogueMutantsAreRefused) {
  const Signature fused = {.epilogue = parse_epilogue("row_scale+bias_row+relu+residual")};
  expect_refused(
      "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
      "vector_width_a=4 vector_width_b=4",
      {{"bias of the wrong axis", "offset_bias + row", "offset_bias + column", fused},
       {"scale of the wrong axis", "offset_row_scale + row", "offset_row_scale + column", fused},
       {"residual of the next column", "row * ld_residual", "1 + row * ld_residual", fused}});
}

TEST_F(CertifyMutantsTest, QuantizedBMutantsAreRefused) {
  const Signature middle = {.types = parse_types("f32xq4b32"), .trans_b = kYes},
                  stored = {.types = parse_types("f32xq4b32z"), .trans_b = kYes};
  expect_refused(
      "family=vector tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4 "
      "vector_width_b=4",
      {{"zero point off by one", "float(1 << (QUANT_BITS - 1))",
        "float((1 << (QUANT_BITS - 1)) - 1)", middle},
       {"stored zero point off by one", "(base + zero)", "(base + zero + 1)", stored},
       {"zero points of the next block", "const uint bit = block * QUANT_BITS",
        "const uint bit = (block + 1) * QUANT_BITS", stored},
       {"zero points of the row before", "b_zero_point_row[j] = zero_point_row(row, blocks)",
        "b_zero_point_row[j] = zero_point_row(max(row, 1) - 1, blocks)", stored},
       {"scales of the first block", "b_scale_row[j] + block", "b_scale_row[j]", middle}});
}

TEST_F(CertifyMutantsTest, BlockMutantsAreRefused) {
  expect_refused(
      "family=vector tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=1 unroll_k=32" + kTexels,
      {{"zero point off by one", "ZERO_POINT 8", "ZERO_POINT 7", of("f32xq4_0")},
       {"no fifth bits", "bits_to_bytes(high >> w * 4) << LOW_BITS", "0", of("f32xq5_0")},
       {"the fifth bits of the other half", "group_modulo(first, g, 2) * 16)", "0)",
        of("f32xq5_0")},
       {"sign lost", "x ^ 0x80808080u", "x", of("f32xq8_0")},
       {"minimum not subtracted", "return value - b_zero_point", "return value - 0 * b_zero_point",
        of("f32xq4_k")},
       {"scales of the first four parts only", "first_four ? head.y", "true ? head.y",
        of("f32xq4_k")},
       {"minimums of the first four parts only", "first_four ? head.z", "true ? head.z",
        of("f32xq5_k")},
       {"fifth bits of the first part", "high >> shift_of_group", "high >> 0 * shift_of_group",
        of("f32xq5_k")},
       {"upper bits of the first quarter", "high >> shift_of_group", "high >> 0 * shift_of_group",
        of("f32xq6_k")},
       {"scale of the group before", "offset + SCALES_PLACE + group",
        "offset + SCALES_PLACE + max(group, 1) - 1", of("f32xq6_k")},
       {"a step of the magnitudes", "(low & low >> 1) * 2", "0", of("f32xmxfp4")},
       {"exponent off by one", "exponent << 23;", "exponent + 1 << 23;", of("f32xmxfp4")},
       {"minimum subtracted that is to be added", "vec2(1, -1)", "vec2(1, 1)", of("f32xq4_1")},
       {"upper halves' minimum for both", "other_half(g + i)", "other_half(g)", of("f32xq4_1")},
       {"fifth bits of the lower half", "+ HIGH_FIRST) >> group_modulo(first, g, 2) * 16",
        "+ HIGH_FIRST)", of("f32xq5_1")},
       {"the scale for the minimum", "both >> 4)", "both & 0xfu)", of("f32xq2_k")},
       {"two bits of the first quarter", "low >> shift &", "low >> 0 &", of("f32xq2_k")},
       {"scales of the first half", "half_block = HALF_OF_GROUP", "half_block = 0", of("f32xq3_k")},
       {"no upper bits of scales", "& 3) << 4;", "& 0) << 4;", of("f32xq3_k")},
       {"third bits lost", "<< LOW_BITS);", "<< LOW_BITS & 0);", of("f32xq3_k")},
       {"the largest entry off by one", "217, 241", "217, 240", of("f32xiq4_nl")},
       {"negative entries only", "either(bit[3], negative, positive)", "negative", of("f32xiq4_nl")},
       {"upper bits of the first part's scale", "head >> 16 + part * 2", "head >> 16",
        of("f32xiq4_xs")},
       {"scales that are not signed", "(float(scale) - 32)", "float(scale)", of("f32xiq4_xs")},
       {"small scales lost", "float(x & 7) / 512", "0", of("f32xnvfp4")},
       {"a NaN that counts", "x == 0x7f ? 0 : scale", "scale", of("f32xnvfp4")},
       {"a scale's sign that counts", "((x & 0x7fu) << 20)", "(x << 20)", of("f32xnvfp4")},
       {"an upper bit of a scale lost", "((x & 0x7fu) << 20)", "((x & 0x3fu) << 20)",
        of("f32xnvfp4")},
       {"an exponent of 8 that counts as 0", "(x & 0x78u) == 0", "(x & 0x38u) == 0",
        of("f32xnvfp4")},
       {"a NaN with a sign", "x == 0x7f ?", "(x & 0x7f) == 0x7f ?", of("f32xnvfp4")},
       {"the lower halves of bytes only", "w / 2 * LOW_BITS", "0", of("f32xnvfp4")},
       {"words without their byte's shift", "lower >> shift | upper << 1 << (31 - shift)", "lower",
        of("f32xq4_0")},
       {"the first block's", "return step / BLOCK * BLOCK_BYTES;", "return 0;", of("f32xq4_0")}});
}

TEST_F(CertifyMutantsTest, WindowMutantsAreRefused) {
  expect_refused(
      "family=vector tile_m=1 tile_n=8 tile_k=128 reg_m=1 reg_n=1 unroll_k=128 vector_width_b=4" +
          kTexels,
      {{"words of odd windows", "(phase & 1) != 0 ? words[i + 1]", "(phase & 1) != 0 ? words[i]",
        of("f32xq8_0")},
       {"words of the second pair of windows", "(phase & 2) != 0 ? words[i + 2]",
        "(phase & 2) != 0 ? words[i]", of("f32xmxfp4")},
       {"the first window of a trip", "+ part * BLOCK_WINDOW", "", of("f32xq5_0")},
       {"lower halves of a block", "u % BLOCK / span * LOW_BITS", "0", of("f32xq4_0")},
       {"lower halves only", "half_of_group(u / 16) * 4", "0", of("f32xq4_k")},
       {"signs of a window lost", "LOW_BITS == 8 ? ZERO_POINT : 0", "0", of("f32xq8_0")},
       {"the upper halves' minimum for both", "other_half(uint g) { return half_of_group(g) == 0",
        "other_half(uint g) { return half_of_group(g) != 0", of("f32xq4_k")},
       {"four bits of the lower half", "window_half * 64", "0", of("f32xq6_k")},
       {"two bits of the lower half", "window_half * 32", "0", of("f32xq6_k")},
       {"scales of the lower half", "window_half != 0", "false", of("f32xq6_k")},
       {"the scale of scales at a word's begin", "words[4] >> shift", "words[4]", of("f32xq6_k")},
       {"parts at a word's begin", "base % 4 * 8", "0", of("f32xq6_k")},
       {"fields of the lower half", "window_half * 32", "0", of("f32xq2_k")},
       {"scales of the lower half's groups", "window_half * 8", "0", of("f32xq2_k")},
       {"third bits of the lower half", "HIGH_SHIFT window_half * 4", "HIGH_SHIFT 0", of("f32xq3_k")},
       {"three words of scales at a word's begin", "upper_and_lower(words[i + 1], words[i], shift)",
        "words[i]", of("f32xq3_k")},
       {"scales of the lower half's parts", "part = HALF_OF_GROUP * 4 +", "part =",
        of("f32xiq4_xs")},
       {"codes of the lower half", "window_half * 64", "0", of("f32xiq4_xs")}});
}

TEST_F(CertifyMutantsTest, ColumnLoopMutantsAreRefused) {
  const std::string column_loop = "family=vector vector_width_b=4" + kTexels;
  // The sums of two rows move on, 16 of one row stay where they are.
  const std::string moving = column_loop + " tile_m=2 tile_n=16 reg_m=2 reg_n=8",
                    staying = column_loop + " tile_m=1 tile_n=32 reg_m=1 reg_n=16";
  expect_refused(
      moving + " tile_k=64 unroll_k=64",
      {{"sums that stay where they are", "sums[i][c] = sums[i][c + 1];", "", of("f32xq8_0")},
       {"sums moved by two columns", "sums[i][c] = sums[i][c + 1];",
        "sums[i][c] = sums[i][(c + 2) % REG_N];", of("f32xq4b32")},
       {"the last column left out", "j < REG_N; ++j) {\n    begin_row",
        "j + 1 < REG_N; ++j) {\n    begin_row", of("f32xq4_k")}});
  // The shortest trip that is a window of Q6_K, and the shortest of whole vectors.
  expect_refused(moving + " tile_k=128 unroll_k=128",
                 {{"the first column for all", "b_first_column + column_offset(j)",
                   "b_first_column", of("f32xq6_k")}});
  expect_refused(moving + " tile_k=256 unroll_k=256",
                 {{"windows that begin within a vector", "BLOCK_WINDOW 256", "BLOCK_WINDOW 64",
                   of("f32xq5_0")}});
  expect_refused(
      staying + " tile_k=64 unroll_k=64",
      {{"sums of the first column for all", "column_sums[i][j] = sums[i][first + j]",
        "column_sums[i][j] = sums[i][j]", of("f32xq8_0")},
       {"sums in the place of the next column", "sums[i][first + j] = column_sums",
        "sums[i][(first + j + 1) % REG_N] = column_sums", of("f32xq4b32")},
       {"the first trip for all", "load_part(held, b_k0, next)", "load_part(held, 0, next)",
        of("f32xq5_k")}});
  expect_refused(staying + " tile_k=256 unroll_k=256",
                 {{"the last part left out", "next < parts", "next + 1 < parts", of("f32xq8_0")},
                  {"the first block's vectors for all", "base / 16 + first + v", "base / 16 + v",
                   of("f32xq4_0")}});
}

TEST_F(CertifyMutantsTest, QuantizedTileMutantsAreRefused) {
  const Signature middle = {.types = parse_types("f32xq4b16"), .trans_b = kYes},
                  stored = {.types = parse_types("f32xq4b16z"), .trans_b = kYes};
  expect_refused(
      "family=tiled tile_m=16 tile_n=32 tile_k=32 reg_m=4 reg_n=4 unroll_k=8 stage=shared "
      "vector_width_a=4 vector_width_b=1",
      {{"scale of the tile's first block", "row * blocks + b_block[l]", "row * blocks", middle},
       {"scales of the first tile", "fetch_scale(b_scale_address[l] + block);",
        "fetch_scale(b_scale_address[l]);", middle},
       {"zero points of the tile's first block", "b_block[l] + block", "block", stored},
       {"words of the first tile", "b_address[l] + k0 / VALUES_PER_WORD), 0)", "b_address[l]), 0)",
        middle}});
}

}  // namespace
}  // namespace rooftile
