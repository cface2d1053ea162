// From a path to a usable connection: folder, owner, version, damage, migration. Inside db/ only.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "db/connection.h"
#include "db/store.h"

namespace rooftile {

struct OpenedFile {
  std::unique_ptr<Connection> connection;
  std::string note;  // about a damaged file that was set aside; else empty
};

/// path absolute. Errors as Store's constructor has them.
OpenedFile open_file(const std::filesystem::path& path, const StoreOptions& options);

}  // namespace rooftile
