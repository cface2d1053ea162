#include "generator/compiler_work.h"

#include <algorithm>

#include "generator/layout.h"

namespace rooftile {
namespace {

// Statements outside the loops (addresses, edges, the store of C) of a shader without unrolled
// loops (naive, packing, reduction), and of the others. Both are fitted to the times in
// compiler_work.h.
constexpr double kPlainShader = 25, kBlockedShader = 150;

/// Multiply-add statements, each of a vector or a matrix, in the unrolled text of all trips of the
/// k loop.
double products(const Variant& v, const Signature& s) {
  if (v.family == Family::kMatrix) {
    const bool whole = has_workgroup_scope(v);
    const double m = whole ? v.tile_m : v.subgroup_m, n = whole ? v.tile_n : v.subgroup_n;
    return operations_of(v, s.types) * m / v.matrix_m * n / v.matrix_n * v.tile_k /
           (v.matrix_k * v.subgroups_k);
  }
  const int columns = loops_over_columns(v, s) ? 1 : v.reg_n;
  const double sums = static_cast<double>(v.reg_m) * columns / vector_width_c(v, s);
  return sums * (v.unroll_k + (has_tail(v) ? tail_k(v, s) : 0));
}

}  // namespace

double compiler_work(const Variant& v, const Signature& s) {
  const int others = (v.packed_a == Packed::kYes ? 1 : 0) + (v.packed_b == Packed::kYes ? 1 : 0) +
                     (v.split_k > 1 ? 1 : 0);
  const double gemm = v.family == Family::kNaive ? kPlainShader : kBlockedShader + products(v, s);
  return gemm + others * kPlainShader;
}

}  // namespace rooftile
