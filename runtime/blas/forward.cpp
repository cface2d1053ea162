#include <cstring>
#include <initializer_list>

#include "runtime/blas/environment.h"
#include "runtime/blas/float64_sums.h"
#include "runtime/blas/real_blas.h"

namespace {

const char* without_prefix(const char* name, const char* prefix) {
  const std::size_t length = std::strlen(prefix);
  return std::strncmp(name, prefix, length) == 0 ? name + length : name;
}

/// Whether a routine of BLAS or LAPACK rounds to float32. Names of real single precision begin with
/// s; the exceptions below only move numbers or query the machine.
bool rounds_to_float32(const char* name) {
  const char* const routine = without_prefix(without_prefix(name, "cblas_"), "LAPACKE_");
  if (*routine != 's') return false;
  for (const char* const exact : {"scopy", "sswap", "slamch", "slacpy", "slaset", "second"})
    if (std::strncmp(routine, exact, std::strlen(exact)) == 0) return false;
  return true;
}

}  // namespace

/// Called by forward.S: returns the address of the symbol of this name.
extern "C" void* rooftile_blas_target(const char* name) {
  using namespace rooftile::blas;
  if (rounds_to_float32(name) && sums_in_float64())
    say_float32(name, "it is not among the routines that Rooftile takes over");
  return required_symbol(name);
}
