// Level 3 routines for symmetric and triangular matrices. They are composed of GEMMs where these
// run on the device; otherwise the underlying BLAS computes them.
#pragma once

#include "runtime/blas/routines.h"

namespace rooftile::blas {

/// Compute a routine with arguments that BLAS allows. They never fail, are thread-safe, and read
/// only what BLAS reads.
void run_syrk(const Syrk& s);
void run_symm(const Symm& s);
void run_trmm(const Triangular& t);
void run_trsm(const Triangular& t);

}  // namespace rooftile::blas
