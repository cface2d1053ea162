#include "runtime/blas/real_blas.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "runtime/host/host_library.h"

namespace rooftile::blas {
namespace {

RealBlas real = {};

/// Whether a symbol belongs to this library. LAPACK needs libblas.so.3, which may be this library,
/// so a lookup may lead back here.
bool is_own(void* symbol) {
  Dl_info of_symbol, own;
  return dladdr(symbol, &of_symbol) != 0 && dladdr(&real, &own) != 0 &&
         of_symbol.dli_fbase == own.dli_fbase;
}

void* symbol_or_end(const char* name) {
  // Looks in the handle's library, not in the first library of the process that has the symbol.
  if (void* const symbol = dlsym(real.handle, name)) return symbol;
  for (const char* const library : {"liblapack.so.3", "liblapacke.so.3"})
    if (void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL))
      if (void* const symbol = dlsym(handle, name); symbol != nullptr && !is_own(symbol))
        return symbol;
  std::fprintf(stderr,
               "rooftile: the program calls %s, which %s does not have; name a BLAS that has it in "
               "ROOFTILE_BLAS\n",
               name, real.name);
  std::abort();
}

/// letter: 's' or 'd', with which the names of the routines begin.
template <typename Real>
void load(char letter, RealRoutines<Real>& routines) {
  const auto one = [letter](const char* rest, auto& target) {
    char name[8];
    std::snprintf(name, sizeof name, "%c%s", letter, rest);
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(symbol_or_end(name));
  };
  one("gemm_", routines.gemm);
  one("gemv_", routines.gemv);
  one("syrk_", routines.syrk);
  one("symm_", routines.symm);
  one("trmm_", routines.trmm);
  one("trsm_", routines.trsm);
}

void open() {
  char tried[1024] = "";
  const HostLibrary library = open_host_library([&](const char* name, const char* why) {
    const std::size_t length = std::strlen(tried);
    std::snprintf(tried + length, sizeof tried - length, "\n  %s: %s", name, why);
  });
  if (library.handle == nullptr) {
    const char* const chosen = ::secure_getenv("ROOFTILE_BLAS");
    std::fprintf(stderr,
                 chosen != nullptr && *chosen != '\0'
                     ? "rooftile: ROOFTILE_BLAS names a library that cannot be used; name a BLAS, "
                       "or unset the variable for the machine's own:%s\n"
                     : "rooftile: no BLAS library on this machine; install libopenblas0-pthread or "
                       "name one in ROOFTILE_BLAS. Tried:%s\n",
                 tried);
    std::abort();
  }
  real.handle = library.handle;
  real.name = library.name;
  load('s', real.float32);
  load('d', real.float64);
  real.float32.small_kernels = real.float64.small_kernels = has_small_kernels(library.handle);
}

}  // namespace

const RealBlas& real_blas() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open);
  return real;
}

void* required_symbol(const char* name) {
  real_blas();
  return symbol_or_end(name);
}

}  // namespace rooftile::blas
