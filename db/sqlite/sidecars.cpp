#include "db/sqlite/sidecars.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/sqlite_files.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

bool others_may_write_to(const fs::path& folder) {
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  return (status.st_mode & S_IWOTH) != 0 || (sticky && (status.st_mode & S_IWGRP) != 0);
}

bool is_trusted(uid_t owner, const fs::path& database) {
  struct stat status = {};
  return owner == ::geteuid() || owner == 0 ||
         (::stat(database.c_str(), &status) == 0 && owner == status.st_uid);
}

}  // namespace

void refuse_strange_sidecars(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  const fs::path& database = error ? path : resolved;
  for (const std::string_view suffix : kBesideDatabases) {
    const fs::path sidecar = fs::path(database) += suffix;
    struct stat status = {};
    if (::lstat(sidecar.c_str(), &status) != 0) continue;  // SQLite says why, where that matters.
    if (!S_ISREG(status.st_mode))
      fail(ErrorCode::kIo,
           "{} is not a regular file, and would be read with the tuning database {}; remove it, "
           "or name another database",
           sidecar.string(), database.string());
    if (others_may_write_to(database.parent_path()) && !is_trusted(status.st_uid, database))
      fail(ErrorCode::kIo,
           "{} belongs to another user (number {}), and others may write to {}: it could change "
           "the tuning database {}; remove it, or move the database to a folder of your own",
           sidecar.string(), status.st_uid, database.parent_path().string(), database.string());
  }
}

}  // namespace rooftile
