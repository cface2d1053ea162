// Checks and prepares the place of a database before it is opened. Internal to db/.
#pragma once

#include <filesystem>

#include "db/sqlite/store_options.h"

namespace rooftile {

/// Creates missing folders of own_database_path() (kReadWrite, mode 0700). Throws kIo for a folder,
/// a device, a path that cannot be reached or one in a folder that does not exist, and kDatabase
/// when there is no file to read.
void prepare_place(const std::filesystem::path& path, const StoreOptions& options);

}  // namespace rooftile
