// Files that a program keeps for its user alone and can make anew, such as caches.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace rooftile {

/// Puts a file of these pieces, which only its owner may read and write, in the place of one of
/// this name: whole or not at all, but not synced. Returns 0, or the errno of what failed; a limit
/// on the size of files is EFBIG and raises no signal.
int replace_private_file(const std::filesystem::path& file,
                         std::initializer_list<std::string_view> pieces);

}  // namespace rooftile
