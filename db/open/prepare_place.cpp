#include "db/open/prepare_place.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "db/open/database_path.h"
#include "db/open/file_location.h"

namespace rooftile {

namespace fs = std::filesystem;

namespace {

void create_private_folders(const fs::path& folder, std::string_view named) {
  fs::path made;
  for (const fs::path& part : folder) {
    made /= part;
    std::error_code missing;
    if (fs::is_directory(made, missing)) continue;
    constexpr mode_t kOwnerOnly = 0700;  // as the XDG base directory specification asks
    int error = ::mkdir(made.c_str(), kOwnerOnly) == 0 ? 0 : errno;
    if (error == EEXIST && fs::is_directory(made, missing)) error = 0;  // made by another process
    if (error == EEXIST) error = ENOTDIR;
    if (error != 0)
      fail(ErrorCode::kIo, "cannot make the folder {}: {}; make it yourself or name another file{}",
           made.string(), std::strerror(error), named);
  }
}

/// Whether it is the file that is used where none is named; path: as resolved_path() gives it.
bool is_own(const fs::path& path) try {
  return path == resolved_path(own_database_path(), "");
} catch (const Error&) {  // The user has no home folder.
  return false;
}

}  // namespace

void prepare_place(const fs::path& path, const StoreOptions& options) {
  const fs::file_status status = status_of(path, options.named);
  if (fs::is_directory(status))
    fail(ErrorCode::kIo, "{} is a folder; name a file in it{}", path.string(), options.named);
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail(ErrorCode::kIo, "{} is not a regular file; name another{}", path.string(), options.named);
  if (fs::exists(status)) return;
  const bool reads = options.mode == OpenMode::kReadOnly, own = is_own(path);
  if (!own && !fs::is_directory(status_of(path.parent_path(), options.named)))
    fail(reads ? ErrorCode::kDatabase : ErrorCode::kIo,
         "there is no folder {} for a tuning database; make it, or name another file{}",
         path.parent_path().string(), options.named);
  if (reads)
    fail(ErrorCode::kDatabase,
         "there is no tuning database at {}; `rooftile tune` makes one, or name another file{}",
         path.string(), options.named);
  if (own) create_private_folders(path.parent_path(), options.named);
}

}  // namespace rooftile
