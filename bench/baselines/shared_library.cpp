#include "bench/baselines/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "core/error.h"

namespace rooftile {
namespace {

std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return name;
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(map->l_name, failed);
  return failed ? name : file.string();
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& what, const std::vector<std::string>& names,
                             const std::string& remedy) {
  std::string tried;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      file_ = file_of(handle_, name);
      return;
    }
    const char* why = dlerror();
    tried += fmt::format("\n  {}: {}", name, why != nullptr ? why : "cannot be loaded");
  }
  fail(ErrorCode::kUnsupported, "{} cannot be loaded; {}. Tried:{}", what, remedy, tried);
}

void* SharedLibrary::find(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr)
    fail(ErrorCode::kUnsupported, "{} has no function {}: too old, or another library", file_,
         symbol);
  return found;
}

}  // namespace rooftile
