#include "core/files/folder.h"

#include <dirent.h>

#include <algorithm>
#include <memory>

namespace rooftile {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  std::vector<std::string> names;
  while (const dirent* const entry = open == nullptr ? nullptr : ::readdir(open.get()))
    names.emplace_back(entry->d_name);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::ranges::sort(names);
  return names;
}

}  // namespace rooftile
