// sgemm_, cblas_sgemm and the other routines for float.
#define REAL float
#define FORTRAN(routine) s##routine##_
#define CBLAS(routine) cblas_s##routine
#define LETTER "S"
#include "runtime/blas/entry_points.inc"
