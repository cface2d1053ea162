// A BLAS that computes as OpenBLAS does and counts the calls of its products. Tests name it in
// ROOFTILE_BLAS and read the counts by their names. It is linked with OpenBLAS, which has all other
// routines.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

atomic_int counted_gemm, counted_gemv;

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

#define PRODUCTS(letter, Real)                                                                     \
  void letter##gemm_(const char* trans_a, const char* trans_b, const int* m, const int* n,         \
                     const int* k, const Real* alpha, const Real* a, const int* lda,               \
                     const Real* b, const int* ldb, const Real* beta, Real* c, const int* ldc,     \
                     size_t length_a, size_t length_b) {                                           \
    void (*real)(const char*, const char*, const int*, const int*, const int*, const Real*,        \
                 const Real*, const int*, const Real*, const int*, const Real*, Real*, const int*, \
                 size_t, size_t);                                                                  \
    *(void**)&real = next(#letter "gemm_");                                                        \
    ++counted_gemm;                                                                                \
    real(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b);      \
  }                                                                                                \
  void letter##gemv_(const char* trans, const int* m, const int* n, const Real* alpha,             \
                     const Real* a, const int* lda, const Real* x, const int* incx,                \
                     const Real* beta, Real* y, const int* incy, size_t length) {                  \
    void (*real)(const char*, const int*, const int*, const Real*, const Real*, const int*,        \
                 const Real*, const int*, const Real*, Real*, const int*, size_t);                 \
    *(void**)&real = next(#letter "gemv_");                                                        \
    ++counted_gemv;                                                                                \
    real(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, length);                              \
  }

PRODUCTS(s, float)
PRODUCTS(d, double)

// A processor without kernels for small matrices, whatever the machine, unless a test names
// another.
char* openblas_get_corename(void) {
  char* const named = getenv("COUNTING_BLAS_CORE");
  return named != NULL ? named : "Haswell";
}
