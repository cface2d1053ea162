// The ways in over the symbols of the drop-in.
#include <dlfcn.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "soak_session.h"

namespace rooftile {
namespace {

template <typename Real>
using Fortran = void (*)(const char*, const char*, const int*, const int*, const int*, const Real*,
                         const Real*, const int*, const Real*, const int*, const Real*, Real*,
                         const int*);
template <typename Real>
using Cblas = void (*)(int, int, int, int, int, int, Real, const Real*, int, const Real*, int, Real,
                       Real*, int);

template <typename Real>
using Strided = void (*)(const char*, const char*, const int*, const int*, const int*, const Real*,
                         const Real*, const int*, const int*, const Real*, const int*, const int*,
                         const Real*, Real*, const int*, const int*, const int*);
template <typename Real>
using CblasStrided = void (*)(int, int, int, int, int, int, Real, const Real*, int, int,
                              const Real*, int, int, Real, Real*, int, int, int);
template <typename Real>
using CblasBatch = void (*)(int, const int*, const int*, const int*, const int*, const int*,
                            const Real*, const Real* const*, const int*, const Real* const*,
                            const int*, const Real*, Real* const*, const int*, int, const int*);
template <typename Real>
using Syrk = void (*)(const char*, const char*, const int*, const int*, const Real*, const Real*,
                      const int*, const Real*, Real*, const int*);

// The numbers of cblas.h.
constexpr int kRowMajor = 101, kColumnMajor = 102, kNoTrans = 111, kTrans = 112;

void* symbol(const std::string& name) {
  static void* const library = dlopen(ROOFTILE_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  void* const found = dlsym(library, name.c_str());
  if (found == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  return found;
}

/// The drop-in's function whose name has "s" or "d" between prefix and routine.
template <template <typename> typename Function, typename Real>
Function<Real> function(const char* prefix, const char* routine) {
  const char* const letter = std::is_same_v<Real, float> ? "s" : "d";
  return reinterpret_cast<Function<Real>>(symbol(std::string(prefix) + letter + routine));
}

template <typename Real>
struct Scalars {
  Real alpha, beta;
};
template <typename Real>
Scalars<Real> scalars_of(const rooftile_gemm_args& x) {
  if constexpr (std::is_same_v<Real, float>)
    return {x.alpha, x.beta};
  else
    return {x.alpha_f64, x.beta_f64};
}

/// Computes both triangles of C, each by a call that must leave the other as it was.
template <typename Real>
void call_syrk(const rooftile_gemm_args& x) {
  const auto [alpha, beta] = scalars_of<Real>(x);
  const auto syrk = function<Syrk, Real>("", "syrk_");
  const int n = static_cast<int>(x.m), k = static_cast<int>(x.k), lda = static_cast<int>(x.lda),
            ldc = static_cast<int>(x.ldc);
  const char trans = x.trans_a == ROOFTILE_TRANSPOSE ? 'T' : 'N';
  auto* const c = static_cast<Real*>(x.c);
  const std::size_t size = n > 0 ? static_cast<std::size_t>(n - 1) * x.ldc + n : 0;
  const std::vector<Real> before(c, c + size);
  std::vector<Real> upper = before;
  const auto call = [&, &alpha = alpha, &beta = beta](const char* triangle, Real* to) {
    syrk(triangle, &trans, &n, &k, &alpha, static_cast<const Real*>(x.a), &lda, &beta, to, &ldc);
  };
  call("L", c);
  call("U", upper.data());
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < n; ++row) {
      const std::size_t at = static_cast<std::size_t>(column) * x.ldc + row;
      const Real& untouched = row < column ? c[at] : upper[at];
      if (row != column && std::memcmp(&untouched, &before[at], sizeof(Real)) != 0)
        fail(ErrorCode::kInternal, "syrk wrote into the other triangle at {}, {}", row, column);
      if (row < column) c[at] = upper[at];
    }
}

template <typename Real>
void make_call(const SoakCase& test, SoakOperands& operands) {
  SoakCase as_called = test;
  if (test.way == Way::kFortran || test.way == Way::kSyrk) as_called.layout = Layout::kColumnMajor;
  const SoakCall call(as_called, operands, SoakCall::Pointers::kHost);
  const rooftile_gemm_args& x = call.args;
  if (test.way == Way::kSyrk) return call_syrk<Real>(x);
  const auto [alpha, beta] = scalars_of<Real>(x);
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  const int m = number(x.m), n = number(x.n), k = number(x.k), lda = number(x.lda),
            ldb = number(x.ldb), ldc = number(x.ldc), stride_a = number(x.stride_a),
            stride_b = number(x.stride_b), stride_c = number(x.stride_c), batch = number(x.batch);
  const auto* const a = static_cast<const Real*>(x.a);
  const auto* const b = static_cast<const Real*>(x.b);
  auto* const c = static_cast<Real*>(x.c);
  const bool t_a = x.trans_a == ROOFTILE_TRANSPOSE, t_b = x.trans_b == ROOFTILE_TRANSPOSE;
  const char letter_a = t_a ? 'T' : 'N', letter_b = t_b ? 'T' : 'N';
  const int trans_a = t_a ? kTrans : kNoTrans, trans_b = t_b ? kTrans : kNoTrans;
  const bool column = x.layout == ROOFTILE_COLUMN_MAJOR;
  const int order = column ? kColumnMajor : kRowMajor;
  if (test.way == Way::kFortran) {
    function<Fortran, Real>("", "gemm_")(&letter_a, &letter_b, &m, &n, &k, &alpha, a, &lda, b, &ldb,
                                         &beta, c, &ldc);
  } else if (test.way == Way::kCblas) {
    function<Cblas, Real>("cblas_", "gemm")(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb,
                                            beta, c, ldc);
  } else if (test.way == Way::kStrided && column) {
    function<Strided, Real>("", "gemm_batch_strided_")(&letter_a, &letter_b, &m, &n, &k, &alpha, a,
                                                       &lda, &stride_a, b, &ldb, &stride_b, &beta,
                                                       c, &ldc, &stride_c, &batch);
  } else if (test.way == Way::kStrided) {
    function<CblasStrided, Real>("cblas_", "gemm_batch_strided")(
        order, trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
        stride_c, batch);
  } else {
    std::vector<const Real*> as, bs;
    std::vector<Real*> cs;
    for (std::int64_t i = 0; i < x.batch; ++i) {
      as.push_back(a + i * x.stride_a);
      bs.push_back(b + i * x.stride_b);
      cs.push_back(c + i * x.stride_c);
    }
    function<CblasBatch, Real>("cblas_", "gemm_batch")(order, &trans_a, &trans_b, &m, &n, &k,
                                                       &alpha, as.data(), &lda, bs.data(), &ldb,
                                                       &beta, cs.data(), &ldc, 1, &batch);
  }
}

}  // namespace

void SoakSession::call_drop_in(const SoakCase& test, SoakOperands& operands) {
  is_float64(test.problem.types) ? make_call<double>(test, operands)
                                 : make_call<float>(test, operands);
}

}  // namespace rooftile
