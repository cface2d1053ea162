// The ways in over the symbols of the drop-in.
#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "core/error.h"
#include "soak_session.h"

namespace rooftile {
namespace {

using Fortran = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                         const float*, const int*, const float*, const int*, const float*, float*,
                         const int*);
using Cblas = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);

using Strided = void (*)(const char*, const char*, const int*, const int*, const int*, const float*,
                         const float*, const int*, const int*, const float*, const int*, const int*,
                         const float*, float*, const int*, const int*, const int*);
using CblasStrided = void (*)(int, int, int, int, int, int, float, const float*, int, int,
                              const float*, int, int, float, float*, int, int, int);
using CblasBatch = void (*)(int, const int*, const int*, const int*, const int*, const int*,
                            const float*, const float* const*, const int*, const float* const*,
                            const int*, const float*, float* const*, const int*, int, const int*);
using Syrk = void (*)(const char*, const char*, const int*, const int*, const float*, const float*,
                      const int*, const float*, float*, const int*);

// The numbers of cblas.h.
constexpr int kRowMajor = 101, kColumnMajor = 102, kNoTrans = 111, kTrans = 112;

template <typename Function>
Function function(const char* name);

/// Computes both triangles of C, each by a call that must leave the other as it was.
void call_syrk(const rooftile_gemm_args& x) {
  const int n = static_cast<int>(x.m), k = static_cast<int>(x.k), lda = static_cast<int>(x.lda),
            ldc = static_cast<int>(x.ldc);
  const char trans = x.trans_a == ROOFTILE_TRANSPOSE ? 'T' : 'N';
  auto* const c = static_cast<float*>(x.c);
  const std::size_t size = n > 0 ? static_cast<std::size_t>(n - 1) * x.ldc + n : 0;
  const std::vector<float> before(c, c + size);
  std::vector<float> upper = before;
  const auto call = [&](const char* triangle, float* to) {
    function<Syrk>("ssyrk_")(triangle, &trans, &n, &k, &x.alpha, static_cast<const float*>(x.a),
                             &lda, &x.beta, to, &ldc);
  };
  call("L", c);
  call("U", upper.data());
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < n; ++row) {
      const std::size_t at = static_cast<std::size_t>(column) * x.ldc + row;
      const float& untouched = row < column ? c[at] : upper[at];
      if (row != column && std::memcmp(&untouched, &before[at], sizeof(float)) != 0)
        fail(ErrorCode::kInternal, "ssyrk wrote into the other triangle at {}, {}", row, column);
      if (row < column) c[at] = upper[at];
    }
}

void* symbol(const char* name) {
  static void* const library = dlopen(ROOFTILE_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  void* const found = dlsym(library, name);
  if (found == nullptr) fail(ErrorCode::kIo, "{}", dlerror());
  return found;
}

template <typename Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(symbol(name));
}

}  // namespace

void SoakSession::call_drop_in(const SoakCase& test, SoakOperands& operands) {
  SoakCase as_called = test;
  if (test.way == Way::kFortran || test.way == Way::kSyrk) as_called.layout = Layout::kColumnMajor;
  const SoakCall call(as_called, operands, SoakCall::Pointers::kHost);
  const rooftile_gemm_args& x = call.args;
  if (test.way == Way::kSyrk) return call_syrk(x);
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  const int m = number(x.m), n = number(x.n), k = number(x.k), lda = number(x.lda),
            ldb = number(x.ldb), ldc = number(x.ldc), stride_a = number(x.stride_a),
            stride_b = number(x.stride_b), stride_c = number(x.stride_c), batch = number(x.batch);
  const auto* const a = static_cast<const float*>(x.a);
  const auto* const b = static_cast<const float*>(x.b);
  auto* const c = static_cast<float*>(x.c);
  const bool t_a = x.trans_a == ROOFTILE_TRANSPOSE, t_b = x.trans_b == ROOFTILE_TRANSPOSE;
  const char letter_a = t_a ? 'T' : 'N', letter_b = t_b ? 'T' : 'N';
  const int trans_a = t_a ? kTrans : kNoTrans, trans_b = t_b ? kTrans : kNoTrans;
  const bool column = x.layout == ROOFTILE_COLUMN_MAJOR;
  const int order = column ? kColumnMajor : kRowMajor;
  if (test.way == Way::kFortran) {
    function<Fortran>("sgemm_")(&letter_a, &letter_b, &m, &n, &k, &x.alpha, a, &lda, b, &ldb,
                                &x.beta, c, &ldc);
  } else if (test.way == Way::kCblas) {
    function<Cblas>("cblas_sgemm")(order, trans_a, trans_b, m, n, k, x.alpha, a, lda, b, ldb,
                                   x.beta, c, ldc);
  } else if (test.way == Way::kStrided && column) {
    function<Strided>("sgemm_batch_strided_")(&letter_a, &letter_b, &m, &n, &k, &x.alpha, a, &lda,
                                              &stride_a, b, &ldb, &stride_b, &x.beta, c, &ldc,
                                              &stride_c, &batch);
  } else if (test.way == Way::kStrided) {
    function<CblasStrided>("cblas_sgemm_batch_strided")(order, trans_a, trans_b, m, n, k, x.alpha,
                                                        a, lda, stride_a, b, ldb, stride_b, x.beta,
                                                        c, ldc, stride_c, batch);
  } else {
    std::vector<const float*> as, bs;
    std::vector<float*> cs;
    for (std::int64_t i = 0; i < x.batch; ++i) {
      as.push_back(a + i * x.stride_a);
      bs.push_back(b + i * x.stride_b);
      cs.push_back(c + i * x.stride_c);
    }
    function<CblasBatch>("cblas_sgemm_batch")(order, &trans_a, &trans_b, &m, &n, &k, &x.alpha,
                                              as.data(), &lda, bs.data(), &ldb, &x.beta, cs.data(),
                                              &ldc, 1, &batch);
  }
}

}  // namespace rooftile
