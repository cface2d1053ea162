// Makes a usable connection from a path: it prepares the folder, checks owner, version and health
// of the file, and creates the schema of a new one. Internal to db/.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "db/sqlite/connection.h"
#include "db/sqlite/store_options.h"

namespace rooftile {

struct OpenedFile {
  std::unique_ptr<Connection> connection;
  std::string note;  // about a damaged file that was set aside; else empty
};

/// path is absolute. Throws the errors of Store's constructor.
OpenedFile open_file(const std::filesystem::path& path, const StoreOptions& options);

}  // namespace rooftile
