// Level 3 routines for symmetric and triangular matrices. They are composed of GEMMs where these
// run on the device; otherwise the underlying BLAS computes them.
#pragma once

#include "runtime/blas/routines.h"

namespace rooftile::blas {

/// Compute a routine with arguments that BLAS allows. They never fail, are thread-safe, and read
/// only what BLAS reads.
template <typename Real>
void run_syrk(const Syrk<Real>& s);
template <typename Real>
void run_symm(const Symm<Real>& s);
template <typename Real>
void run_trmm(const Triangular<Real>& t);
template <typename Real>
void run_trsm(const Triangular<Real>& t);

}  // namespace rooftile::blas
