// The ways in over the symbols of the drop-in.
#include <dlfcn.h>

#include "core/error.h"
#include "soak_session.h"

namespace rooftile {
namespace {

using Fortran = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                         const float*, const int*, const float*, const int*, const float*, float*,
                         const int*);
using Cblas = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);

void* symbol(const char* name) {
  static void* const library = dlopen(ROOFTILE_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  void* const found = dlsym(library, name);
  if (found == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  return found;
}

}  // namespace

void SoakSession::call_drop_in(const SoakCase& test, SoakOperands& operands) {
  SoakCase as_called = test;
  if (test.way == Way::kFortran) as_called.layout = Layout::kColumnMajor;
  const SoakCall call(as_called, operands, SoakCall::Pointers::kHost);
  const rooftile_gemm_args& x = call.args;
  const int m = static_cast<int>(x.m), n = static_cast<int>(x.n), k = static_cast<int>(x.k),
            lda = static_cast<int>(x.lda), ldb = static_cast<int>(x.ldb),
            ldc = static_cast<int>(x.ldc);
  const auto* const a = static_cast<const float*>(x.a);
  const auto* const b = static_cast<const float*>(x.b);
  auto* const c = static_cast<float*>(x.c);
  if (test.way == Way::kFortran) {
    const char trans_a = x.trans_a == ROOFTILE_TRANSPOSE ? 'T' : 'N',
               trans_b = x.trans_b == ROOFTILE_TRANSPOSE ? 'T' : 'N';
    reinterpret_cast<Fortran>(symbol("sgemm_"))(&trans_a, &trans_b, &m, &n, &k, &x.alpha, a, &lda,
                                                b, &ldb, &x.beta, c, &ldc);
    return;
  }
  // The numbers of cblas.h.
  constexpr int kRowMajor = 101, kColumnMajor = 102, kNoTrans = 111, kTrans = 112;
  reinterpret_cast<Cblas>(symbol("cblas_sgemm"))(
      x.layout == ROOFTILE_COLUMN_MAJOR ? kColumnMajor : kRowMajor,
      x.trans_a == ROOFTILE_TRANSPOSE ? kTrans : kNoTrans,
      x.trans_b == ROOFTILE_TRANSPOSE ? kTrans : kNoTrans, m, n, k, x.alpha, a, lda, b, ldb, x.beta,
      c, ldc);
}

}  // namespace rooftile
