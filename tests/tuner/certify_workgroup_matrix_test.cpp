// Kernels with matrices of workgroup scope. On devices that support them they are right for every
// type, transpose and edge, and are rejected with an injected error. All other devices refuse them
// with a reason.
#include <gmock/gmock.h>

#include "certify_fixture.h"
#include "core/error.h"
#include "core/round.h"
#include "generator/compile.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "tests/support/changed_shader.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

/// A kernel for tiles of at least side x side, with all subgroups of the workgroup.
Variant kernel(const WorkgroupMatrix& matrix, const DeviceLimits& limits, int side,
               const std::string& changes = "") {
  Variant v = parse_variant(
      "family=matrix scope=workgroup vector_width_a=4 vector_width_b=4 load_path_a=direct "
      "load_path_b=direct " +
      changes);
  const auto least = [](int size, int unit) {
    return static_cast<int>(round_up(size, std::max(unit, 16)));
  };
  v.tile_m = v.matrix_m = least(side, matrix.unit.m);
  v.tile_n = v.matrix_n = least(std::max(side, v.tile_m), matrix.unit.n);
  v.tile_k = v.matrix_k = v.unroll_k = least(32, matrix.unit.k);
  v.subgroup_size = static_cast<int>(limits.subgroup_size);
  const int subgroups = matrix.invocations / v.subgroup_size;
  int rows = 1;
  while (rows * rows < subgroups) rows *= 2;
  v.subgroup_m = v.tile_m / rows;
  v.subgroup_n = v.tile_n / (subgroups / rows);
  return v;
}

const struct {
  const char* what;
  const char* way;
  const char* from;
  const char* to;
} kMutants[] = {
    {"steps beyond k repeat the last one", "", "ClampModeConstantNV\n", "ClampModeClampToEdgeNV\n"},
    {"a part of k reads on into the next", "split_k=3", "tensor_of(m, k,", "tensor_of(m, depth,"},
    {"A's rows one tile late", "", "row, TILE_M, step,", "row + TILE_M, TILE_M, step,"},
    {"B's steps one late", "", "step, MATRIX_K, column", "step + 1, MATRIX_K, column"},
    {"A's rows too long", "", "tensor_ld(lda, ELEMENTS_A)", "(lda + 1u)"},
    {"the first rows stored in all places", "", "piece, PIECE_M, 0u", "0u, PIECE_M, 0u"},
    {"rows beyond m stored", "", "if (to_row >= m) break;", ""},
    {"sums not cleared", "", "coopmatC(ELEMENT(0))", "coopmatC(ELEMENT(1))"},
    {"beta times the sum", "", "old = RESULT(beta) * load_c(", "old = load_c("},
};

/// Limits of a device with units of 32 x 32 x 16 for 256 invocations.
DeviceLimits limits_with_units() {
  const MatrixShape unit = {32, 32, 16, DataType::kF16, DataType::kF32};
  return {.max_workgroup_invocations = 1024,
          .max_workgroup_size = {1024, 1024, 64},
          .shared_memory_bytes = 49152,
          .max_storage_buffer_range_bytes = 1u << 31,
          .subgroup_size = 32,
          .min_subgroup_size = 32,
          .max_subgroup_size = 32,
          .float16_arithmetic = true,
          .matrix_shapes = {{16, 16, 16, DataType::kF16, DataType::kF32}},
          .max_matrix_dimension = 256,
          .workgroup_matrices = {{unit, 256}}};
}

TEST(WorkgroupMatrixCertification, TriesRowsOfAnyLengthAndEveryEdge) {
  const DeviceLimits limits = limits_with_units();
  const Variant v = kernel(limits.workgroup_matrices[0], limits, 128);
  for (Transpose trans : {kNo, kYes}) {
    bool odd_a = false, odd_b = false, batch = false, below = false, beyond = false;
    for (const auto& c : certification_cases(v, {parse_types("f16"), trans, trans}, limits)) {
      const Problem& p = c.problem;
      odd_a = odd_a || p.lda % 2 == 1;
      odd_b = odd_b || p.ldb % 2 == 1;
      batch = batch || p.batch > 1;
      below = below || p.m < v.tile_m;
      beyond = beyond || (p.m > v.tile_m && p.k > v.tile_k && p.k % v.tile_k != 0);
    }
    EXPECT_TRUE(odd_a && odd_b && batch && below && beyond);
  }
}

TEST(WorkgroupMatrixCertification, MutantsStillCompile) {
  const DeviceLimits limits = limits_with_units();
  for (const auto& [what, way, from, to] : kMutants) {
    EXPECT_NO_THROW(compile(changed(
        emit_gemm(kernel(limits.workgroup_matrices[0], limits, 128, way), {parse_types("f16")}),
        from, to)))
        << what;
  }
}

class CertifyWorkgroupMatrixTest : public CertifyFixture {
 protected:
  void SetUp() override {
    CertifyFixture::SetUp();
    if (limits().workgroup_matrices.empty())
      GTEST_SKIP() << device_->profile().name
                   << " has no matrix units of workgroup scope with tensor addressing";
  }
  const DeviceLimits& limits() const { return device_->profile().limits; }

  /// The first units for half precision with float32 sums, which the mutants use.
  WorkgroupMatrix half_units() const {
    for (const WorkgroupMatrix& x : limits().workgroup_matrices)
      if (x.unit.operand == DataType::kF16 && x.unit.sum == DataType::kF32) return x;
    return limits().workgroup_matrices.front();
  }
};

const char* const kWorkgroupPaths[] = {"", "edge=exact", "split_k=3 raster=grouped4",
                                       "raster=column"};

std::vector<std::string> types_of_unit(const MatrixShape& unit) {
  if (unit.operand == DataType::kI8) return {"i8_i32", "i8", "i8_f16"};
  if (unit.operand == DataType::kU8) return {"u8_i32", "u8", "u8_f16"};
  const std::string a(name(unit.operand));
  if (unit.sum == DataType::kF16) return {a + "_" + a + "_sum_f16", a + "_sum_f16"};
  return {a, a + "_" + a};
}

TEST_F(CertifyWorkgroupMatrixTest, AllUnitsPassInEveryVariant) {
  for (const WorkgroupMatrix& matrix : limits().workgroup_matrices)
    for (int side : {64, 128}) {
      std::vector<Variant> variants;
      for (const char* way : kWorkgroupPaths)
        variants.push_back(kernel(matrix, limits(), side, way));
      expect_right(variants, types_of_unit(matrix.unit), {kNo, kYes});
    }
}

TEST_F(CertifyWorkgroupMatrixTest, EpiloguesAreFused) {
  for (const char* text : {"bias_column+gelu_tanh", "row_scale+bias_row+relu+residual+clamp"}) {
    const Signature signature = {
        .types = parse_types("f16_f16"), .trans_b = kYes, .epilogue = parse_epilogue(text)};
    const Certificate result = certificate(kernel(half_units(), limits(), 64), signature);
    EXPECT_TRUE(result.passed) << text << ": " << result.detail;
  }
}

TEST_F(CertifyWorkgroupMatrixTest, MutantsAreRefused) {
  for (const auto& [what, way, from, to] : kMutants)
    EXPECT_FALSE(
        mutant(kernel(half_units(), limits(), 128, way), {.types = parse_types("f16")}, from, to)
            .passed)
        << what;
}

TEST_F(CertifyFixture, WithoutWorkgroupMatricesTheirKernelsAreRefusedWithAReason) {
  DeviceLimits none = device_->profile().limits;
  none.workgroup_matrices.clear();
  const Variant v = parse_variant(
      "family=matrix scope=workgroup tile_m=64 tile_n=64 tile_k=64 subgroup_m=32 subgroup_n=32 "
      "matrix_m=64 matrix_n=64 matrix_k=64 vector_width_a=4 vector_width_b=4 load_path_a=direct "
      "load_path_b=direct unroll_k=64 subgroup_size=32");
  EXPECT_EQ(illegal_reason(v, none),
            none.matrix_shapes.empty()
                ? "the device has no matrix units"
                : "the device has no matrix units of workgroup scope with tensor addressing");
  for (const Variant& legal : legal_variants(none)) EXPECT_FALSE(has_workgroup_scope(legal));
  if (!device_->profile().limits.workgroup_matrices.empty()) return;
  EXPECT_THROW(certificate(v, {parse_types("f16")}), Error);
}

}  // namespace
}  // namespace rooftile
