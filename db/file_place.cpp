#include "db/file_place.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"

namespace rooftile {

namespace fs = std::filesystem;

namespace {

void create_private_folders(const fs::path& folder) {
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
      fail(ErrorCode::kIo,
           "cannot make the folder {}: {}; make it yourself or name another file with ROOFTILE_DB "
           "or --db",
           made.string(), std::strerror(error));
  }
}

}  // namespace

fs::path resolved_path(const fs::path& path) {
  if (path.empty())
    fail(ErrorCode::kInvalidArgument,
         "the tuning database's path is empty; name a file with ROOFTILE_DB or --db");
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error)
    fail(ErrorCode::kIo, "{} leads nowhere: {}; name another file with ROOFTILE_DB or --db",
         path.string(), error.message());
  fs::path result = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : result;
}

void prepare_place(const fs::path& path, OpenMode mode) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    fail(ErrorCode::kIo,
         "cannot look at {}: {}; check the path, or name another file with ROOFTILE_DB or --db",
         path.string(), error.message());
  if (fs::is_directory(status))
    fail(ErrorCode::kIo, "{} is a folder; name a file in it with ROOFTILE_DB or --db",
         path.string());
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail(ErrorCode::kIo, "{} is not a regular file; name another with ROOFTILE_DB or --db",
         path.string());
  if (fs::exists(status)) return;
  if (mode == OpenMode::kReadOnly)
    fail(ErrorCode::kDatabase,
         "there is no tuning database at {}; `rooftile tune` makes one, or name another file with "
         "ROOFTILE_DB or --db",
         path.string());
  create_private_folders(path.parent_path());
}

}  // namespace rooftile
