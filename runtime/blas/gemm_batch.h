// Batches of GEMMs, as in MKL and in OpenBLAS versions later than Debian 12's. The underlying BLAS
// need not have them: its gemm is used.
#pragma once

#include <dlfcn.h>

#include <cstring>

#include "runtime/blas/arguments.h"
#include "runtime/blas/engine.h"

namespace rooftile::blas {

/// Positions of a batch's arguments in xerbla's numbering.
struct OperandSlots {
  int trans_a, trans_b, m, n, k, lda, ldb, ldc, last;
};
inline constexpr OperandSlots kGroups = {1, 2, 3, 4, 5, 8, 10, 13, 15};
inline constexpr OperandSlots kStrided = {1, 2, 3, 4, 5, 8, 11, 15, 17};

/// Returns the position of the first illegal argument, 0 when there is none. Arguments are checked
/// as the caller passed them: for row-major matrices, ld is checked against the length of rows.
template <typename Real>
int illegal(int order, const Gemm<Real>& g, const OperandSlots& at) {
  const bool rows = order == kRowMajor;
  if (!is_trans(g.trans_a)) return at.trans_a;
  if (!is_trans(g.trans_b)) return at.trans_b;
  if (g.m < 0) return at.m;
  if (g.n < 0) return at.n;
  if (g.k < 0) return at.k;
  if (!is_ld(g.lda, (g.trans_a == 'N') == rows ? g.k : g.m)) return at.lda;
  if (!is_ld(g.ldb, (g.trans_b == 'N') == rows ? g.n : g.k)) return at.ldb;
  if (!is_ld(g.ldc, rows ? g.n : g.m)) return at.ldc;
  return 0;
}

inline void report(const char* routine, int info) {
  // The program's own xerbla_ has precedence over the real library's.
  void* symbol = dlsym(RTLD_DEFAULT, "xerbla_");
  if (symbol == nullptr) symbol = required_symbol("xerbla_");
  reinterpret_cast<void (*)(const char*, const int*, std::size_t)>(symbol)(routine, &info,
                                                                           std::strlen(routine));
}

/// A batch in groups of one shape: scalars are arrays with one value per group, matrices with one
/// per call.
template <typename Trans, typename Real>
struct Groups {
  const Trans *trans_a, *trans_b;
  const Int *m, *n, *k;
  const Real* alpha;
  const Real* const* a;
  const Int* lda;
  const Real* const* b;
  const Int* ldb;
  const Real* beta;
  Real* const* c;
  const Int *ldc, *sizes;
  Int count;

  Gemm<Real> gemm(Int i) const {
    return {letter(trans_a[i]),
            letter(trans_b[i]),
            m[i],
            n[i],
            k[i],
            alpha[i],
            nullptr,
            lda[i],
            nullptr,
            ldb[i],
            beta[i],
            nullptr,
            ldc[i]};
  }
  static char letter(int trans) { return trans_letter(trans); }
  static char letter(char trans) { return trans_letter(&trans); }
};

/// Computes nothing when an argument of any group is illegal.
template <typename Trans, typename Real>
void run_groups(const char* routine, int order, const Groups<Trans, Real>& groups,
                int first_place) {
  const auto complain = [&](int place) { report(routine, place + first_place); };
  if (groups.count < 0) return complain(kGroups.last - 1);
  for (Int i = 0; i < groups.count; ++i) {
    if (const int place = illegal(order, groups.gemm(i), kGroups)) return complain(place);
    if (groups.sizes[i] < 0) return complain(kGroups.last);
  }
  std::ptrdiff_t before = 0;
  for (Int i = 0; i < groups.count; before += groups.sizes[i++]) {
    const bool rows = order == kRowMajor;
    run(GemmBatch<Real>{.gemm = column_major(order, groups.gemm(i)),
                        .batch = groups.sizes[i],
                        .a_array = (rows ? groups.b : groups.a) + before,
                        .b_array = (rows ? groups.a : groups.b) + before,
                        .c_array = groups.c + before});
  }
}

struct Strides {
  std::ptrdiff_t a, b, c;
};

template <typename Real>
void run_strided(const char* routine, int order, const Gemm<Real>& g, const Strides& strides,
                 Int batch, int first_place) {
  if (const int place = illegal(order, g, kStrided)) return report(routine, place + first_place);
  if (batch < 0) return report(routine, kStrided.last + first_place);
  const bool rows = order == kRowMajor;
  run(GemmBatch<Real>{.gemm = column_major(order, g),
                      .batch = batch,
                      .stride_a = rows ? strides.b : strides.a,
                      .stride_b = rows ? strides.a : strides.b,
                      .stride_c = strides.c});
}

}  // namespace rooftile::blas
