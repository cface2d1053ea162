// Texts that are named on a command line: problems, inspections of earlier runs.
#pragma once

#include <filesystem>
#include <string>

namespace rooftile {

/// The whole file, or what a pipe holds. Throws kIo for a folder, for what cannot be read, and
/// where there is more than 64 MiB, as in a device without an end.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace rooftile
