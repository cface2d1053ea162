// Choice of the BLAS library. The runtime and the drop-in (runtime/blas), which is built without
// the C++ library, share this header and therefore choose alike.
#pragma once

#include <dlfcn.h>
#include <strings.h>

#include <cstdlib>
#include <initializer_list>

namespace rooftile {

struct HostLibrary {
  void* handle;  ///< Null: no library was found.
  const char* name;
};

/// Symbol that only the drop-in exports.
inline constexpr const char* kDropInMark = "rooftile_blas_version";

/// Whether the library's gemm has kernels for small matrices, which copy none: OpenBLAS's for
/// processors with AVX-512, from version 0.3.17 on. openblas_get_config() would tell the version,
/// but it calls functions by names that the drop-in exports, too.
inline bool has_small_kernels(void* handle) {
  void* const symbol = dlsym(handle, "openblas_get_corename");
  if (symbol == nullptr || dlsym(handle, "dgemm_small_kernel_nn_SKYLAKEX") == nullptr) return false;
  const char* const core = reinterpret_cast<const char* (*)()>(symbol)();
  for (const char* const name : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    if (::strcasecmp(core, name) == 0) return true;
  return false;
}

/// Opens $ROOFTILE_BLAS, or the first of the libraries below that can be opened, is a BLAS and is
/// not Rooftile's own drop-in (which may be installed as libblas.so.3). refused(name, why) is
/// called for each rejected library. The library is never closed, because BLAS threads may run
/// until the process ends.
template <typename Refused>
HostLibrary open_host_library(const Refused& refused) {
  const char* const chosen = ::secure_getenv("ROOFTILE_BLAS");
  const bool any = chosen == nullptr || *chosen == '\0';
  // Debian's path of the reference BLAS, whatever library libblas.so.3 refers to.
  for (const char* const name : {any ? "libopenblas.so.0" : chosen, any ? "libblas.so.3" : "",
                                 any ? "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3" : ""}) {
    if (*name == '\0') continue;
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const why = dlerror();
      refused(name, why != nullptr ? why : "cannot be loaded");
    } else if (dlsym(handle, kDropInMark) != nullptr) {
      refused(name, "is Rooftile's drop-in itself");
    } else if (dlsym(handle, "sgemm_") == nullptr || dlsym(handle, "dgemm_") == nullptr ||
               dlsym(handle, "sgemv_") == nullptr || dlsym(handle, "dgemv_") == nullptr) {
      refused(name, "lacks sgemm_, dgemm_, sgemv_ or dgemv_");
    } else {
      return {handle, name};
    }
  }
  return {nullptr, ""};
}

}  // namespace rooftile
