// SQLite's error codes to rooftile::Error, with what to do about each. Inside db/ only.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string_view>

namespace rooftile {

/// The file's content is not (or no longer) a SQLite database.
bool means_damage(const SQLite::Exception& error);
bool means_busy(const SQLite::Exception& error);
bool means_broken_rule(const SQLite::Exception& error);  // of a table, or of the longest value

/// doing: "adding a sample". kIo for disk and permissions, kInvalidArgument for values that a CHECK
/// or reference refuses, kOutOfMemory, DatabaseLocked, else kDatabase.
[[noreturn]] void rethrow(const SQLite::Exception& error, const std::filesystem::path& path,
                          std::string_view doing);

}  // namespace rooftile
