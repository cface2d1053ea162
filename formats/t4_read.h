// Reads auto-tuning results in the format T4, of Rooftile or of another tuner that tuned Rooftile's
// kernels. The file comes from a stranger: everything is checked before it is used.
#pragma once

#include <filesystem>
#include <istream>
#include <string>

#include "formats/t4_results.h"

namespace rooftile {

/// Whether a file begins as T4 does: a JSON object with "results" or "schema_version" before any
/// "format". False for a file that cannot be read.
bool is_t4_file(const std::filesystem::path& file);

/// Throws kIo for a file that cannot be read, and kInvalidArgument, naming the file, the result and
/// what is wrong, for anything that is not T4 of Rooftile's kernels with times that they can take.
T4Results read_t4(const std::filesystem::path& file, const T4Defaults& defaults);
/// Same from the text. name: of the file, for messages.
T4Results parse_t4(std::istream& text, const std::string& name, const T4Defaults& defaults);

}  // namespace rooftile
