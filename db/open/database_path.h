// Where the tuning database lies unless the caller names a file.
#pragma once

#include <filesystem>

#include "db/sqlite/store_options.h"

namespace rooftile {

/// $ROOFTILE_DB, else $XDG_DATA_HOME/rooftile/rooftile.db, else
/// ~/.local/share/rooftile/rooftile.db. Throws kIo where the user has no home folder.
std::filesystem::path default_database_path();

/// The same without $ROOFTILE_DB. Its folders are made; those of a file that is named are not.
std::filesystem::path own_database_path();

/// Whether anything exists at the path. Throws kIo where that cannot be found out: a folder that
/// cannot be entered, a name that is too long, a cycle of symbolic links. named: as in
/// StoreOptions.
bool database_exists(const std::filesystem::path& path, std::string_view named = kNamedByDefault);

}  // namespace rooftile
