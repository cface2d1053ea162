// Makes a usable connection from a path: it prepares the folder, checks owner, version and health
// of the file, and migrates it. Internal to db/.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "db/sqlite/connection.h"
#include "db/sqlite/store_options.h"

namespace rooftile {

/// A file with an older schema that was opened for reading and is left unchanged.
struct OlderFile {
  int schema_version = 0;
  Access access = Access::kReadOnly;  // access with which the file can be read
  std::int64_t file_bytes = 0, free_bytes = 0;
};

struct OpenedFile {
  std::unique_ptr<Connection> connection;
  std::string note;                // about a damaged file that was set aside; else empty
  std::optional<OlderFile> older;  // of which the connection is a migrated copy in memory
};

/// path is absolute. Throws the errors of Store's constructor.
OpenedFile open_file(const std::filesystem::path& path, const StoreOptions& options);

}  // namespace rooftile
