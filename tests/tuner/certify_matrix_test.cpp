// Kernels for matrix units: they are right in every shape, type and transpose of the device, at
// all edges. With an injected error they are rejected. Without matrix units they are refused with
// a reason.
#include <gmock/gmock.h>

#include <set>

#include "certify_fixture.h"
#include "core/error.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

const std::vector<Transpose> kBoth = {kNo, kYes};

class CertifyMatrixTest : public CertifyFixture {
 protected:
  void SetUp() override {
    CertifyFixture::SetUp();
    if (limits().matrix_shapes.empty())
      GTEST_SKIP() << device_->profile().name << " has no matrix units: scripts/test --drivers";
  }
  const DeviceLimits& limits() const { return device_->profile().limits; }

  /// A kernel of a few fragments for this shape, with the given changes.
  Variant kernel(const MatrixShape& shape, const std::string& changes = "") const {
    Variant v = parse_variant(
        "family=matrix vector_width_a=4 vector_width_b=4 stage=shared shared_pad=16 " + changes);
    v.matrix_m = shape.m;
    v.matrix_n = shape.n;
    v.matrix_k = shape.k;
    v.subgroup_size = static_cast<int>(limits().subgroup_size);
    // Two fragments, where an invocation may hold enough sums.
    v.subgroup_m = 2 * shape.m * shape.n <= 128 * v.subgroup_size ? 2 * shape.m : shape.m;
    v.subgroup_n = shape.n;
    v.tile_m = 2 * v.subgroup_m;
    v.tile_n = 2 * v.subgroup_n;
    v.unroll_k = shape.k;
    v.tile_k = std::max(2, v.subgroups_k) * shape.k;
    // Fragments of few bytes need narrower vectors.
    const auto fitted = [&](int width) {
      const int bytes = static_cast<int>(bytes_of(shape.operand));
      while (width > 1 && std::min({shape.m, shape.n, shape.k}) * bytes % (4 * width) != 0)
        width /= 2;
      return width;
    };
    v.vector_width_a = fitted(v.vector_width_a);
    v.vector_width_b = fitted(v.vector_width_b);
    return v;
  }
  /// The first half-precision shape, which the mutants use.
  MatrixShape half_shape() const {
    for (const MatrixShape& shape : limits().matrix_shapes)
      if (shape.operand == DataType::kF16 && shape.sum == DataType::kF32) return shape;
    return limits().matrix_shapes.front();
  }
};

const char* const kTransferPaths[] = {
    "stages=1",
    "stages=2",
    "stages=2 raster=grouped4 split_k=3",
    "load_path_a=direct load_path_b=direct packed_a=yes packed_b=yes stage=none shared_pad=0",
    "load_path_a=direct packed_a=yes stages=2",
    "load_path_b=direct packed_b=yes raster=column split_k=2",
    "load_path_a=direct load_path_b=direct edge=exact stage=none shared_pad=0",
    "load_path_b=direct edge=exact",
    "vector_width_a=2 vector_width_b=1",
};

/// What is the same for all shapes.
const char* const kOtherPaths[] = {
    "prefetch=ahead shared_pad=8 store_map=permuted",
    "stages=2 shared_pad=8 store_map=permuted",
    "prefetch=peeled split_k=3 raster=column",
    "stage=stored prefetch=ahead raster=grouped4",
    "stage=stored prefetch=peeled",
    "stage=stored stages=2 subgroups_k=2",
    "subgroups_k=4 prefetch=ahead",
    "subgroups_k=2 split_k=3",
    ("subgroups_k=2 load_path_a=direct load_path_b=direct packed_a=yes packed_b=yes stage=none "
     "shared_pad=0"),
};

/// Tiles in the order in which operands are stored, for 16-bit operands.
const char* const kStoredPaths[] = {
    "stage=stored",
    "stage=stored stages=2 raster=grouped4 split_k=3",
    "stage=stored load_path_a=direct packed_a=yes",
    "stage=stored vector_width_a=2 vector_width_b=1",
};

std::vector<std::string> types_of(const MatrixShape& shape) {
  const std::string a(name(shape.operand));
  if (is_8_bit(shape.operand)) return {a + "_i32", a, a + "_f16"};
  if (shape.sum == DataType::kF16) return {a + "_" + a + "_sum_f16", a + "_sum_f16"};
  return {a, a + "_" + a};
}

TEST_F(CertifyMatrixTest, EveryShapePassesInEveryVariant) {
  for (std::size_t i = 0; i < limits().matrix_shapes.size(); ++i) {
    const MatrixShape& shape = limits().matrix_shapes[i];
    std::vector<Variant> variants;
    for (const char* way : kTransferPaths) variants.push_back(kernel(shape, way));
    for (const char* way : kStoredPaths)
      if (bytes_of(shape.operand) == 2) variants.push_back(kernel(shape, way));
    // Each shape begins with another pair of a type and a transpose.
    expect_right(variants, types_of(shape), kBoth, 7, i);
  }
}

TEST_F(CertifyMatrixTest, TilesFetchedAheadAndPermutedAreRight) {
  std::set<DataType> tried;  // a shape of each
  for (const MatrixShape& shape : limits().matrix_shapes) {
    if (!tried.insert(shape.operand).second) continue;
    std::vector<Variant> variants;
    for (const char* way : kOtherPaths)
      if (Variant v = kernel(shape, way); v.stage != Stage::kStored || bytes_of(shape.operand) == 2)
        variants.push_back(v);
    // Each operand begins with another pair of a type and a transpose.
    expect_right(variants, types_of(shape), kBoth, 7, tried.size());
  }
}

// Each granularity meets three of the multiples, and each of these two or three granularities.
TEST_F(CertifyMatrixTest, FlexibleShapesAreRight) {
  if (limits().matrix_granularities.empty()) GTEST_SKIP() << "no flexible shapes";
  constexpr std::array kMultiples = {std::array{2, 2, 2}, std::array{2, 1, 2}, std::array{1, 3, 1},
                                     std::array{4, 2, 2}, std::array{2, 2, 4}};
  for (std::size_t g = 0; g < limits().matrix_granularities.size(); ++g)
    for (std::size_t i = g; i < g + 3; ++i) {
      const auto [m, n, k] = kMultiples[2 * i % kMultiples.size()];
      MatrixShape shape = limits().matrix_granularities[g];
      shape.m *= m;
      shape.n *= n;
      shape.k *= k;
      const std::vector<std::string> types = types_of(shape);
      const std::string& type = types[i % types.size()];
      const std::array ways = {kTransferPaths[1], kTransferPaths[3]};
      Variant v = kernel(shape, ways[i % 2]);
      if (illegal_reason(v, limits(), {parse_types(type)})) v = kernel(shape, ways[(i + 1) % 2]);
      // An emulated device compiles two fragments of the largest shapes for 10 s and longer.
      if (m * n * k > 4) {
        v.subgroup_m = shape.m;
        v.tile_m = 2 * v.subgroup_m;
      }
      expect_right({v}, {type}, kBoth, 4, g + i);
    }
}

TEST_F(CertifyMatrixTest, QuantizedBIsRight) {
  const MatrixShape shape = half_shape();
  expect_right(
      {kernel(shape, "stages=1"), kernel(shape, "stages=2 split_k=2"),
       kernel(shape, "stage=stored"), kernel(shape, "load_path_a=direct packed_a=yes stages=2"),
       kernel(shape, "prefetch=ahead shared_pad=8 store_map=permuted")},
      {"f16xq4b16", "f16xq4b32z_f16", "f16xq8b32zf_f16", "f16xq8b16z"}, kBoth);
  for (const char* types : {"f16xq4_k", "f16xq6_k_f16", "f16xmxfp4", "f16xq5_1", "f16xq3_k_f16",
                            "f16xiq4_xs", "f16xnvfp4"})
    for (const char* way : {"stages=1", "stages=2 split_k=2", "subgroups_k=2"}) {
      const Certificate result =
          certificate(kernel(shape, way), {.types = parse_types(types), .trans_b = kYes});
      EXPECT_TRUE(result.passed) << types << " " << way << ": " << result.detail;
    }
}

TEST_F(CertifyMatrixTest, EpiloguesAreFused) {
  for (const char* text : {"bias_column+gelu_tanh", "row_scale+bias_row+relu+residual+clamp"}) {
    const Signature signature = {
        .types = parse_types("f16_f16"), .trans_b = kYes, .epilogue = parse_epilogue(text)};
    for (const char* way : {"stages=2", "stage=stored", "subgroups_k=2"}) {
      const Certificate result = certificate(kernel(half_shape(), way), signature);
      EXPECT_TRUE(result.passed) << text << " " << way << ": " << result.detail;
    }
  }
}

TEST_F(CertifyMatrixTest, GroupsAreRight) {
  const std::vector<std::string> ways = {"stages=1",
                                         "stages=2 raster=column",
                                         "stages=2 raster=grouped4",
                                         "load_path_b=direct packed_b=yes",
                                         "vector_width_a=2 vector_width_b=1",
                                         "subgroups_k=2"};
  std::size_t tried = 0;
  for (const MatrixShape& shape : limits().matrix_shapes)
    for (const std::string& types : types_of(shape)) {
      const Variant v = kernel(shape, ways[tried % ways.size()]);
      const Signature signature = {
          .types = parse_types(types), .trans_b = tried % 2 == 0 ? kNo : kYes, .grouped = true};
      if (illegal_reason(v, limits(), signature)) continue;
      const Certificate result = certificate(v, signature);
      EXPECT_TRUE(result.passed) << short_name(v) << " " << to_string(signature) << ": "
                                 << result.detail;
      ++tried;
    }
  EXPECT_GE(tried, ways.size());
}

TEST_F(CertifyMatrixTest, QuantisedGroupsWithAnEpilogueAreRight) {
  for (const char* types : {"f16xq4b32z_f16", "f16xq4_k"}) {
    const Signature signature = {
        .types = parse_types(types),
        .trans_b = kYes,
        .epilogue = parse_epilogue("column_scale+bias_column+silu+residual"),
        .grouped = true};
    const Certificate result = certificate(kernel(half_shape(), "stages=2"), signature);
    EXPECT_TRUE(result.passed) << types << ": " << result.detail;
  }
}

TEST_F(CertifyMatrixTest, MutantsOfGroupsAreRefused) {
  const Signature signature = {.types = parse_types("f16"), .grouped = true};
  const Variant v = kernel(half_shape(), "stages=2");
  EXPECT_TRUE(certificate(v, signature).passed);
  for (const auto& [from, to] :
       {std::pair{"rows.x * expert_b", "(rows.x ^ 1u) * expert_b"},
        std::pair{"m = rows.z > 0 ? row + rows.z : 0", "m = rows.z > 0 ? row + TILE_M : 0"}})
    EXPECT_FALSE(mutant(v, signature, from, to).passed) << from;
}

TEST_F(CertifyMatrixTest, ASampleOfTheSpacePasses) {
  constexpr std::size_t kEvery = 7;
  // Larger ones take minutes on an emulated device.
  constexpr int kLargestTile = 64, kLargestBlock = 16;
  const std::vector<std::string> types = {"f16", "f16_f16", "i8_i32", "u8_i32", "f16_f16_sum_f16"};
  std::size_t met = 0, tried = 0;
  for (const Variant& v : legal_variants(limits())) {
    if (v.family != Family::kMatrix || std::max(v.tile_m, v.tile_n) > kLargestTile ||
        std::max(v.subgroup_m, v.subgroup_n) > kLargestBlock)
      continue;
    if (met++ % kEvery != 0) continue;
    for (const std::string& text : types) {
      const Signature signature = {parse_types(text), met % 2 == 0 ? kNo : kYes,
                                   met % 3 == 0 ? kYes : kNo};
      if (illegal_reason(v, limits(), signature)) continue;
      const Certificate result = certificate(v, signature);
      EXPECT_TRUE(result.passed) << to_string(v) << " " << text << ": " << result.detail;
      ++tried;
      break;
    }
  }
  EXPECT_GE(tried, 5u);
}

TEST_F(CertifyMatrixTest, MutantsAreRefused) {
  const struct {
    const char* what;
    const char* way;
    const char* from;
    const char* to;
  } kMutants[] = {
      {"A read by columns instead of rows", "", "LayoutRowMajor, SHARED_STRIDE",
       "LayoutColumnMajor, SHARED_STRIDE"},
      {"B's fragments one step late", "", "fragment_b(stage, tile_step(step + u),",
       "fragment_b(stage, (step + u + MATRIX_K) % TILE_K,"},
      {"a subgroup's columns swapped with its rows", "", "block / SUBGROUPS_N * SUBGROUP_M",
       "block % SUBGROUPS_N * SUBGROUP_M"},
      {"steps beyond k kept", "", "left == ELEMENTS_PER_WORD ? x", "left >= 0u ? x"},
      {"rows beyond m not clamped to what may be read", "", "if (to_row >= m) break;", ""},
      {"the last row of A read at the one before", "", "clamp_index(row0 + at.x, m - 1)",
       "clamp_index(row0 + at.x, m - 2)"},
      {"the last tile fetched without masks", "", "steps_left(step * ELEMENTS_A));",
       "steps_left(0u));"},
      {"no barrier before a tile is read", "", "tile_barrier();\n    multiply_tile(0);",
       "multiply_tile(0);"},
      {"no barrier before a tile is overwritten", "", "fetch_tile_b();\n    tile_barrier();",
       "fetch_tile_b();"},
      {"all tiles but the last left out", "", "uint tiles = (k - 1) / TILE_K;", "uint tiles = 0;"},
      {"the last tile left out", "", "fetch_last_tile_b(tiles * TILE_K);", "fetch_tile_b();"},
      {"a tile in which k ends taken as whole", "", "(k - 1) / TILE_K", "(k + 1) / TILE_K"},
      {"whole tiles of A at one place", "", "a_tile_start += A_VECTORS;", ""},
      {"whole tiles of B at one place", "", "b_tile_start += TILE_K * (ldb / ELEMENTS_B);", ""},
      {"a transposed step of B in the wrong word", "", "step_of_b(l) / ELEMENTS_PER_WORD",
       "(step_of_b(l) / ELEMENTS_PER_WORD ^ 1)"},
      {"words not transposed", "", "transpose(words[s / ELEMENTS_PER_WORD]);", ""},
      {"a tile put where the present one is read", "stages=2", "put_tile_b(1);", "put_tile_b(0);"},
      {"no barrier after the first of two trips", "stages=2",
       "multiply_tile(0);\n    tile_barrier();", "multiply_tile(0);"},
      {"no barrier after the second of two trips", "stages=2",
       "multiply_tile(1);\n    tile_barrier();", "multiply_tile(1);"},
      {"no barrier between the last tiles", "stages=2", "--tiles;\n    tile_barrier();",
       "--tiles;"},
      {"the last tile but one not fetched", "stages=2", "if (tiles > 1) {", "if (tiles > 2) {"},
      {"the last tile put in the place of the one before", "stages=2", "put_tile_a(1 - stage);",
       "put_tile_a(stage);"},
      {"the last stage multiplied once more", "stages=2", "stage = 1 - stage", "stage = stage"},
      {"subgroups that multiply the same steps", "subgroups_k=2", "subgroup_step + step", "step"},
      {"one subgroup's sums instead of all", "subgroups_k=2", "other < SUBGROUPS_K", "other < 1"},
      {"the same subgroup's sums twice", "subgroups_k=2", "block + other * BLOCKS", "block"},
      {"sums added before other subgroups have put theirs", "subgroups_k=2",
       "#define fragment_barrier() tile_barrier()", "#define fragment_barrier()"},
      {"a part of a fragment not stored", "subgroups_k=2", "gl_SubgroupID / BLOCKS * SUBGROUP_SIZE",
       "0"},
      {"the address of a tile of packed A overwritten", "load_path_a=direct packed_a=yes stages=2",
       "a_tile[stage] = a_next_tile", "a_tile[0] = a_next_tile"},
      {"packed fragments of A in the wrong order", "load_path_a=direct packed_a=yes",
       "a_first_tile + k0 * MATRIX_M", "a_first_tile + k0 * MATRIX_K"},
      {"packed tiles of A at one place", "load_path_a=direct packed_a=yes",
       "a_whole_tile += TILE_K * MATRIX_M", "a_whole_tile += 0"},
      {"fragments stored to C by columns", "", "LayoutRowMajor, stride);",
       "LayoutColumnMajor, stride);"},
      {"fragments stored to C a fragment's row late", "", "to + i * MATRIX_M * stride",
       "to + (i ^ 1) * MATRIX_M * stride"},
      {"fragments stored to C beyond m", "", "(tile.y + 1) * TILE_M <= m", "tile.y * TILE_M <= m"},
      {"fragments stored to C without alpha", "", "alpha == 1.0 && beta == 0.0", "beta == 0.0"},
      {"fragments stored to C without beta", "", "alpha == 1.0 && beta == 0.0", "alpha == 1.0"},
      {"fragments passed through shared memory by columns", "",
       "x, CooperativeMatrixLayoutRowMajor", "x, CooperativeMatrixLayoutColumnMajor"},
      {"fragments put into a tile that is still read", "prefetch=ahead",
       "void begin_fragments() { tile_barrier(); }", "void begin_fragments() {}"},
      {"fragments of all subgroups put into one place", "",
       "C_TILE[0], gl_SubgroupID * C_VECTORS, x", "C_TILE[0], 0, x"},
      {"one fragment passed through shared memory for another", "",
       "fragment == i * FRAGMENTS_N + j", "fragment == 0u"},
      {"sums not cleared", "", "coopmatC(ELEMENT(0))", "coopmatC(ELEMENT(1))"},
      {"beta times the sum", "", "old = RESULT(beta) * load_c(", "old = load_c("},
  };
  MatrixShape shape = half_shape();
  const Signature signature = {.types = parse_types("f16")};
  // Tiles are not square where the device allows it, so that exchanged dimensions show.
  if (!limits().matrix_granularities.empty()) shape.k *= 2;
  for (const auto& [what, way, from, to] : kMutants)
    EXPECT_FALSE(mutant(kernel(shape, way), signature, from, to).passed) << what;
}

TEST_F(CertifyMatrixTest, MutantsOfTilesInTheOrderOfTheOperandsAreRefused) {
  const Signature signature = {.types = parse_types("f16_f16"), .trans_a = kYes};
  const Variant v = kernel(half_shape(), "stage=stored prefetch=ahead");
  EXPECT_TRUE(certificate(v, signature).passed);
  const struct {
    const char* what;
    const char* from;
    const char* to;
  } kMutants[] = {
      {"A read by rows instead of columns", "LayoutColumnMajor, A_STRIDE",
       "LayoutRowMajor, A_STRIDE"},
      {"B read by columns instead of rows", "LayoutRowMajor, B_STRIDE",
       "LayoutColumnMajor, B_STRIDE"},
      {"B's fragments one fragment's columns late", "(column) / SHARED_ELEMENTS",
       "((column) ^ MATRIX_N) / SHARED_ELEMENTS"},
      {"steps of A beyond k kept", "steps_left(step) > 0 ? ELEMENTS_A : 0u", "ELEMENTS_A"},
      {"whole tiles of A at one place", "a_tile_start += TILE_K * (lda / ELEMENTS_A);", ""},
      {"no barrier before a tile is read", "put_tile_b(0);\n    tile_barrier();", "put_tile_b(0);"},
      {"no barrier before a tile is overwritten", "multiply_tile(0);\n    tile_barrier();",
       "multiply_tile(0);"},
      {"the next tile stored before the present one is multiplied",
       "    multiply_tile(0);\n    tile_barrier();\n    put_tile_a(0);",
       "    put_tile_a(0);\n    tile_barrier();\n    multiply_tile(0);"},
      {"sums narrowed without alpha", "alpha == 1.0 && beta == 0.0", "beta == 0.0"},
      {"sums narrowed without beta", "alpha == 1.0 && beta == 0.0", "alpha == 1.0"},
      {"sums narrowed and stored by columns", "LayoutRowMajor, stride);",
       "LayoutColumnMajor, stride);"},
      {"rows of C that begin within 16 bytes", " && (ldc | offset_c) % QUAD_ELEMENTS == 0", ""},
  };
  for (const auto& [what, from, to] : kMutants)
    EXPECT_FALSE(mutant(v, signature, from, to).passed) << what;
}

TEST_F(CertifyMatrixTest, MutantsOfPeeledLoopsAreRefused) {
  const Signature signature = {.types = parse_types("f16")};
  const Variant v = kernel(half_shape(), "prefetch=peeled");
  EXPECT_TRUE(certificate(v, signature).passed);
  for (const auto& [from, to] :
       {std::pair{"    tile_barrier();\n    put_tile_a(0);", "    put_tile_a(0);"},
        std::pair{"put_tile_b(0);\n    tile_barrier();", "put_tile_b(0);"},
        std::pair{"tiles > 1; --tiles", "tiles > 2; --tiles"},
        std::pair{"  if (tiles > 0) {\n    tile_barrier();",
                  "  if (tiles > 1) {\n    tile_barrier();"},
        std::pair{"  if (tiles > 0) {\n    fetch_tile_a();", "  if (tiles > 0) {"}})
    EXPECT_FALSE(mutant(v, signature, from, to).passed) << from;
}

TEST_F(CertifyMatrixTest, MutantsOfPermutedRowsAreRefused) {
  const Signature signature = {.types = parse_types("f16"), .trans_b = kYes};
  const Variant v = kernel(half_shape(), "shared_pad=8 store_map=permuted");
  ASSERT_FALSE(illegal_reason(v, limits(), signature)) << *illegal_reason(v, limits(), signature);
  EXPECT_TRUE(certificate(v, signature).passed);
  for (const auto& [from, to] :
       {std::pair{" + i / together,", ","}, std::pair{"i % together * step", "i % together"}})
    EXPECT_FALSE(mutant(v, signature, from, to).passed) << from;
}

TEST_F(CertifyMatrixTest, MutantsOfQuantizedLoadsAreRefused) {
  const Signature signature = {.types = parse_types("f16xq4b16z"), .trans_b = kYes};
  const Variant v = kernel(half_shape(), "stages=2");
  EXPECT_TRUE(certificate(v, signature).passed);
  for (const auto& [from, to] :
       {std::pair{"value_minus_zero_point(word, i, zero_point)",
                  "value_minus_zero_point(word, i ^ 1u, zero_point)"},
        std::pair{"fetch_scale(value / QUANT_BLOCK)",
                  "fetch_scale(b_column[l] * (ldb / QUANT_BLOCK))"},
        std::pair{"step / QUANT_BLOCK, ldb", "0, ldb"}, std::pair{"b_tile_start += TILE_K;", ""},
        std::pair{"step < k ? step : 0", "0"},
        std::pair{"(column) * SHARED_STRIDE", "(column) * (SHARED_STRIDE - 1)"}})
    EXPECT_FALSE(mutant(v, signature, from, to).passed) << from;
}

TEST_F(CertifyMatrixTest, MutantsThatReadUnsignedIntegersAsSignedAreRefused) {
  const auto shape =
      std::ranges::find(limits().matrix_shapes, DataType::kU8, &MatrixShape::operand);
  if (shape == limits().matrix_shapes.end()) GTEST_SKIP() << "no unsigned integers";
  const Signature signature = {.types = parse_types("u8_i32")};
  for (const char* way : {kTransferPaths[0], kTransferPaths[3]})
    EXPECT_FALSE(mutant(kernel(*shape, way), signature,
                        "coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c);",
                        "coopMatMulAddSigned(MatrixA a, MatrixB b, MatrixC c, spirv_literal uint "
                        "signs);\n"
                        "#define coopMatMulAdd(a, b, c) coopMatMulAddSigned(a, b, c, 15)")
                     .passed)
        << way;
}

TEST_F(CertifyFixture, WithoutMatrixUnitsMatrixKernelsAreRefusedWithAReason) {
  DeviceLimits none = device_->profile().limits;
  none.matrix_shapes.clear();
  none.matrix_granularities.clear();
  const Variant v = parse_variant(
      "family=matrix tile_m=32 tile_n=32 tile_k=16 subgroup_m=16 subgroup_n=16 matrix_m=8 "
      "matrix_n=8 matrix_k=8 unroll_k=8 vector_width_a=4 vector_width_b=4 stage=shared "
      "subgroup_size=8");
  EXPECT_EQ(illegal_reason(v, none), "the device has no matrix units");
  for (const Variant& legal : legal_variants(none)) EXPECT_NE(legal.family, Family::kMatrix);
  if (!device_->profile().limits.matrix_shapes.empty()) return;
  EXPECT_THROW(certificate(v, {parse_types("f16")}), Error);
}

}  // namespace
}  // namespace rooftile
