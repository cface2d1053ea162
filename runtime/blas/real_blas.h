// The underlying BLAS library, which computes every call that Rooftile does not take over or hands
// back.
#pragma once

#include <cstddef>
#include <type_traits>

#include "runtime/host/host_gemm.h"

namespace rooftile::blas {

/// Integers of the LP64 interface, as in every libblas.so.3 of Debian.
using Int = int;

template <typename Real>
inline constexpr bool kIsFloat32 = std::is_same_v<Real, float>;

/// Fortran routines of the library for float (sgemm_ and so on) or double (dgemm_); their last
/// arguments are the lengths of the strings.
template <typename Real>
struct RealRoutines : GemmRoutines<Real> {
  void (*syrk)(const char* uplo, const char* trans, const Int* n, const Int* k, const Real* alpha,
               const Real* a, const Int* lda, const Real* beta, Real* c, const Int* ldc,
               std::size_t, std::size_t);
  void (*symm)(const char* side, const char* uplo, const Int* m, const Int* n, const Real* alpha,
               const Real* a, const Int* lda, const Real* b, const Int* ldb, const Real* beta,
               Real* c, const Int* ldc, std::size_t, std::size_t);
  using TriangularRoutine = void (*)(const char* side, const char* uplo, const char* trans,
                                     const char* diag, const Int* m, const Int* n,
                                     const Real* alpha, const Real* a, const Int* lda, Real* b,
                                     const Int* ldb, std::size_t, std::size_t, std::size_t,
                                     std::size_t);
  TriangularRoutine trmm, trsm;
};

struct RealBlas {
  void* handle;
  const char* name;
  RealRoutines<float> float32;
  RealRoutines<double> float64;
};

/// Returns the library. The first call loads it, and it is never unloaded. A process without any
/// BLAS ends here with a message, as it would have ended at its start without the drop-in.
/// Thread-safe.
const RealBlas& real_blas();
template <typename Real>
const RealRoutines<Real>& real_routines() {
  if constexpr (kIsFloat32<Real>)
    return real_blas().float32;
  else
    return real_blas().float64;
}

/// Returns a symbol of the library, or of the machine's LAPACK if the library lacks it. If neither
/// has it the process ends with a message.
void* required_symbol(const char* name);

}  // namespace rooftile::blas
