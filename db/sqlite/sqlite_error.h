// Translates SQLite's error codes into rooftile::Error, with the remedy for each. Internal to db/.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string_view>

#include "db/sqlite/store_options.h"

namespace rooftile {

/// Whether the error says that the file is not, or no longer, a sound SQLite database.
bool means_damage(const SQLite::Exception& error);
bool means_busy(const SQLite::Exception& error);
/// Whether the error is a broken rule of a table, or of the limit on the length of values.
bool means_broken_rule(const SQLite::Exception& error);

/// doing: "adding a sample". kIo for disk and permissions, kInvalidArgument for values that a CHECK
/// or reference refuses, kOutOfMemory, DatabaseLocked, else kDatabase. named: as in StoreOptions.
[[noreturn]] void rethrow(const SQLite::Exception& error, const std::filesystem::path& path,
                          std::string_view doing, std::string_view named = kNamedByDefault);

}  // namespace rooftile
