// dgemm_, cblas_dgemm and the other routines for double.
#define REAL double
#define FORTRAN(routine) d##routine##_
#define CBLAS(routine) cblas_d##routine
#define LETTER "D"
#include "runtime/blas/entry_points.inc"
