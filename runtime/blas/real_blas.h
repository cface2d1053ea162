// The BLAS underneath: where every call ends that Rooftile does not take over, or gives back.
#pragma once

#include <cstddef>

namespace rooftile::blas {

/// Integers of the LP64 interface, as everything in Debian that is called libblas.so.3 has them.
using Int = int;

/// Fortran's own routines; the last arguments are the lengths of the strings.
struct RealBlas {
  void* handle;
  const char* name;
  void (*sgemm)(const char*, const char*, const Int* m, const Int* n, const Int* k,
                const float* alpha, const float* a, const Int* lda, const float* b, const Int* ldb,
                const float* beta, float* c, const Int* ldc, std::size_t, std::size_t);
  void (*sgemv)(const char* trans, const Int* m, const Int* n, const float* alpha, const float* a,
                const Int* lda, const float* x, const Int* incx, const float* beta, float* y,
                const Int* incy, std::size_t);
  void (*ssyrk)(const char* uplo, const char* trans, const Int* n, const Int* k, const float* alpha,
                const float* a, const Int* lda, const float* beta, float* c, const Int* ldc,
                std::size_t, std::size_t);
  void (*ssymm)(const char* side, const char* uplo, const Int* m, const Int* n, const float* alpha,
                const float* a, const Int* lda, const float* b, const Int* ldb, const float* beta,
                float* c, const Int* ldc, std::size_t, std::size_t);
  using Triangular = void (*)(const char* side, const char* uplo, const char* trans,
                              const char* diag, const Int* m, const Int* n, const float* alpha,
                              const float* a, const Int* lda, float* b, const Int* ldb, std::size_t,
                              std::size_t, std::size_t, std::size_t);
  Triangular strmm, strsm;
};

/// Loaded by the first call, for good. A process without any BLAS ends here, with a message, as it
/// would have ended at its start without its own. Thread-safe.
const RealBlas& real_blas();

/// A symbol of it, or of the machine's LAPACK where it has none. A process that calls what is
/// nowhere ends here, with a message.
void* required_symbol(const char* name);

}  // namespace rooftile::blas
