// The manual: one page for the program and one for each command, from their definitions.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

namespace rooftile {

/// Writes rooftile.1, rooftile-tune.1, rooftile-db-import.1, ... into the folder, which is made if
/// it does not exist, in the language of man(7). Throws kIo.
void write_manual(const CLI::App& app, const std::filesystem::path& folder);

}  // namespace rooftile
