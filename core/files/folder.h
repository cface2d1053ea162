// The names in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rooftile {

/// Sorted, without "." and ".."; empty where there is no such folder or it cannot be read. Unlike
/// std::filesystem::directory_iterator of GCC 12, which ends the process, it throws std::bad_alloc
/// where memory is short.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace rooftile
