// The underlying BLAS library, which computes every call that Rooftile does not take over or hands
// back.
#pragma once

#include <cstddef>

namespace rooftile::blas {

/// Integers of the LP64 interface, as in every libblas.so.3 of Debian.
using Int = int;

/// Fortran routines of the library; their last arguments are the lengths of the strings.
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

/// Returns the library. The first call loads it, and it is never unloaded. A process without any
/// BLAS ends here with a message, as it would have ended at its start without the drop-in.
/// Thread-safe.
const RealBlas& real_blas();

/// Returns a symbol of the library, or of the machine's LAPACK if the library lacks it. If neither
/// has it the process ends with a message.
void* required_symbol(const char* name);

}  // namespace rooftile::blas
