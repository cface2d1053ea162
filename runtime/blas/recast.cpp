#include "runtime/blas/recast.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "runtime/blas/engine.h"
#include "runtime/blas/float64_sums.h"

namespace rooftile::blas {
namespace {

/// Position of a cut. Cutting a matrix into halves leaves two problems of the same kind and a GEMM;
/// it pays only if the device is predicted to win that GEMM. GEMMs of later cuts must in addition
/// be large enough to query the runtime, even when the device is forced.
enum class Cut { kFirst, kLater };

template <typename Real>
bool pays(const Gemm<Real>& product, Cut cut) {
  return (cut == Cut::kFirst || flops(product) >= kLeastFlops) && runs_on_device(product);
}

template <typename Real>
void real_syrk(const Syrk<Real>& s) {
  real_routines<Real>().syrk(&s.uplo, &s.trans, &s.n, &s.k, &s.alpha, s.a, &s.lda, &s.beta, s.c,
                             &s.ldc, 1, 1);
}

template <typename Real>
void cut_syrk(const Syrk<Real>& s, Cut cut) {
  const Int n1 = s.n / 2, n2 = s.n - n1;
  const bool lower = s.uplo == 'L';
  const Real* const a2 = s.a + (s.trans == 'N' ? std::ptrdiff_t{n1} : std::ptrdiff_t{n1} * s.lda);
  Real* const c2 = s.c + std::ptrdiff_t{n1} * s.ldc;  // Columns of the second half.
  const Gemm<Real> between = {.trans_a = s.trans,
                              .trans_b = s.trans == 'N' ? 'T' : 'N',
                              .m = lower ? n2 : n1,
                              .n = lower ? n1 : n2,
                              .k = s.k,
                              .alpha = s.alpha,
                              .a = lower ? a2 : s.a,
                              .lda = s.lda,
                              .b = lower ? s.a : a2,
                              .ldb = s.lda,
                              .beta = s.beta,
                              .c = lower ? s.c + n1 : c2,
                              .ldc = s.ldc};
  if (!pays(between, cut)) return real_syrk(s);
  Syrk<Real> first = s, second = s;
  first.n = n1;
  second.n = n2;
  second.a = a2;
  second.c = c2 + n1;
  cut_syrk(first, Cut::kLater);
  run(between);
  cut_syrk(second, Cut::kLater);
}

template <typename Real>
void real_symm(const Symm<Real>& s) {
  real_routines<Real>().symm(&s.side, &s.uplo, &s.m, &s.n, &s.alpha, s.a, &s.lda, s.b, &s.ldb,
                             &s.beta, s.c, &s.ldc, 1, 1);
}

/// Fills a full matrix, packed, from one triangle of a symmetric one.
template <typename Real>
void fill_symmetric(char uplo, Int order, const Real* a, std::ptrdiff_t lda, Real* whole) {
  constexpr std::ptrdiff_t kBlock = 32;  // Two blocks fit into the first-level cache.
  const std::ptrdiff_t n = order;
  const bool lower = uplo == 'L';
  for (std::ptrdiff_t j0 = 0; j0 < n; j0 += kBlock)
    for (std::ptrdiff_t i0 = j0; i0 < n; i0 += kBlock)
      for (std::ptrdiff_t j = j0; j < std::min(j0 + kBlock, n); ++j)
        for (std::ptrdiff_t i = std::max(i0, j); i < std::min(i0 + kBlock, n); ++i)
          whole[j * n + i] = whole[i * n + j] = lower ? a[j * lda + i] : a[i * lda + j];
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

template <typename Real>
void real_trmm(const Triangular<Real>& t) {
  real_routines<Real>().trmm(&t.side, &t.uplo, &t.trans, &t.diag, &t.m, &t.n, &t.alpha, t.a, &t.lda,
                             t.b, &t.ldb, 1, 1, 1, 1);
}
template <typename Real>
void real_trsm(const Triangular<Real>& t) {
  real_routines<Real>().trsm(&t.side, &t.uplo, &t.trans, &t.diag, &t.m, &t.n, &t.alpha, t.a, &t.lda,
                             t.b, &t.ldb, 1, 1, 1, 1);
}

/// Halves of a triangular problem, in the order of computation. When solving, the second needs the
/// first's result; when multiplying, it needs the first's old content.
template <typename Real>
struct Halves {
  Triangular<Real> first, second;
  // second's B += alpha * (coupling block) * first's B; the caller sets alpha and beta.
  Gemm<Real> between;
};

template <typename Real>
Halves<Real> halves(const Triangular<Real>& t) {
  const bool left = t.side == 'L';
  const Int size = left ? t.m : t.n, size1 = size / 2, size2 = size - size1;
  const auto half = [&](Int of, Int at) {
    Triangular<Real> h = t;
    (left ? h.m : h.n) = of;
    h.a += at + std::ptrdiff_t{at} * t.lda;
    h.b += left ? std::ptrdiff_t{at} : std::ptrdiff_t{at} * t.ldb;
    return h;
  };
  Halves<Real> h = {half(size1, 0), half(size2, size1), {}};
  const bool op_is_lower = (t.uplo == 'L') == (t.trans == 'N');
  if (left != op_is_lower) std::swap(h.first, h.second);
  const Real* const coupling =
      t.a + (t.uplo == 'L' ? std::ptrdiff_t{size1} : std::ptrdiff_t{size1} * t.lda);
  h.between = {.trans_a = left ? t.trans : 'N',
               .trans_b = left ? 'N' : t.trans,
               .m = h.second.m,
               .n = h.second.n,
               .k = left ? h.first.m : h.first.n,
               .alpha = 1,
               .a = left ? coupling : h.first.b,
               .lda = left ? t.lda : t.ldb,
               .b = left ? h.first.b : coupling,
               .ldb = left ? t.ldb : t.lda,
               .beta = 1,
               .c = h.second.b,
               .ldc = t.ldb};
  return h;
}

template <typename Real>
void cut_trmm(const Triangular<Real>& t, Cut cut) {
  Halves<Real> h = halves(t);
  h.between.alpha = t.alpha;
  if (!pays(h.between, cut)) return real_trmm(t);
  cut_trmm(h.second, Cut::kLater);
  run(h.between);
  cut_trmm(h.first, Cut::kLater);
}

template <typename Real>
void cut_trsm(const Triangular<Real>& t, Cut cut) {
  Halves<Real> h = halves(t);
  h.between.alpha = -1;
  h.between.beta = t.alpha;
  if (!pays(h.between, cut)) return real_trsm(t);
  h.second.alpha = 1;
  cut_trsm(h.first, Cut::kLater);
  run(h.between);
  cut_trsm(h.second, Cut::kLater);
}

}  // namespace

// Where float32 operands are summed in float64 the host computes: no matrix is cut for the device.

template <typename Real>
void run_syrk(const Syrk<Real>& s) {
  if constexpr (kIsFloat32<Real>)
    if (keeps_on_host() && syrk_in_float64(s)) return;
  cut_syrk(s, Cut::kFirst);
}
template <typename Real>
void run_trmm(const Triangular<Real>& t) {
  if constexpr (kIsFloat32<Real>)
    if (keeps_on_host() && trmm_in_float64(t)) return;
  cut_trmm(t, Cut::kFirst);
}
template <typename Real>
void run_trsm(const Triangular<Real>& t) {
  if constexpr (kIsFloat32<Real>)
    if (keeps_on_host() && trsm_in_float64(t)) return;
  cut_trsm(t, Cut::kFirst);
}

template <typename Real>
void run_symm(const Symm<Real>& s) {
  if constexpr (kIsFloat32<Real>)
    if (keeps_on_host() && symm_in_float64(s)) return;
  const bool left = s.side == 'L';
  const Int order = left ? s.m : s.n;
  Gemm<Real> whole = {.trans_a = 'N',
                      .trans_b = 'N',
                      .m = s.m,
                      .n = s.n,
                      .k = order,
                      .alpha = s.alpha,
                      .a = s.b,
                      .lda = s.ldb,
                      .b = s.b,
                      .ldb = s.ldb,
                      .beta = s.beta,
                      .c = s.c,
                      .ldc = s.ldc};
  (left ? whole.lda : whole.ldb) = order;
  if (!runs_on_device(whole)) return real_symm(s);
  const std::unique_ptr<Real, Free> a(static_cast<Real*>(std::malloc(
      static_cast<std::size_t>(order) * static_cast<std::size_t>(order) * sizeof(Real))));
  if (a == nullptr) return real_symm(s);
  fill_symmetric(s.uplo, order, s.a, s.lda, a.get());
  (left ? whole.a : whole.b) = a.get();
  run(whole);
}

template void run_syrk(const Syrk<float>& s);
template void run_symm(const Symm<float>& s);
template void run_trmm(const Triangular<float>& t);
template void run_trsm(const Triangular<float>& t);
template void run_syrk(const Syrk<double>& s);
template void run_symm(const Symm<double>& s);
template void run_trmm(const Triangular<double>& t);
template void run_trsm(const Triangular<double>& t);

}  // namespace rooftile::blas
