// Files of the system by a pattern. std::filesystem's iterators of folders end the program where
// there is no memory for a name (libstdc++ 12).
#pragma once

#include <glob.h>

#include <memory>
#include <string>
#include <vector>

namespace rooftile {

/// Files and folders that match a pattern of the shell; none where none can be read.
inline std::vector<std::string> matching_files(const std::string& pattern) {
  glob_t found = {};
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  return files;
}

}  // namespace rooftile
