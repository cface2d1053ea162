// From a path to a usable connection: folder, owner, version, damage, migration. Inside db/ only.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "db/connection.h"
#include "db/store.h"

namespace rooftile {

/// One that a reader found, and left as it is.
struct OlderFile {
  int schema_version = 0;
  Access access = Access::kReadOnly;  // that it can be read with
  std::int64_t file_bytes = 0, free_bytes = 0;
};

struct OpenedFile {
  std::unique_ptr<Connection> connection;
  std::string note;                // about a damaged file that was set aside; else empty
  std::optional<OlderFile> older;  // of which the connection is a migrated copy in memory
};

/// path absolute. Errors as Store's constructor has them.
OpenedFile open_file(const std::filesystem::path& path, const StoreOptions& options);

}  // namespace rooftile
