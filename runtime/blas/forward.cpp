#include "runtime/blas/real_blas.h"

/// forward.S's question: where the symbol of this name lies.
extern "C" void* rooftile_blas_target(const char* name) {
  return rooftile::blas::required_symbol(name);
}
