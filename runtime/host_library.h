// Which BLAS lies underneath: one answer for the runtime and for the drop-in (runtime/blas), which
// is built without the C++ library and shares this header only.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>

namespace rooftile {

struct HostLibrary {
  void* handle;  // null: there is none
  const char* name;
};

/// Exported by the drop-in alone.
inline constexpr const char* kDropInMark = "rooftile_blas_version";

/// $ROOFTILE_BLAS, else the first of these that can be opened, is a BLAS and is not Rooftile's own
/// drop-in, which may be installed as libblas.so.3. refused(name, why) hears of each that is passed
/// over. Never closed: BLAS threads may outlive any moment at which it could be.
template <typename Refused>
HostLibrary open_host_library(const Refused& refused) {
  const char* const chosen = std::getenv("ROOFTILE_BLAS");
  const bool any = chosen == nullptr || *chosen == '\0';
  // The last is the reference BLAS's own place on Debian, whatever libblas.so.3 stands for.
  for (const char* const name : {any ? "libopenblas.so.0" : chosen, any ? "libblas.so.3" : "",
                                 any ? "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3" : ""}) {
    if (*name == '\0') continue;
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const why = dlerror();
      refused(name, why != nullptr ? why : "cannot be loaded");
    } else if (dlsym(handle, kDropInMark) != nullptr) {
      refused(name, "is Rooftile's drop-in itself");
    } else if (dlsym(handle, "sgemm_") == nullptr || dlsym(handle, "dgemm_") == nullptr) {
      refused(name, "has no sgemm_ and dgemm_");
    } else {
      return {handle, name};
    }
  }
  return {nullptr, ""};
}

}  // namespace rooftile
