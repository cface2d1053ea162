#include "db/open/set_aside.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/sqlite_files.h"
#include "db/open/folder_lock.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The database itself comes last: a process that opens it meanwhile must not find a sound new file
/// beside the old log, which SQLite would play back into it.
constexpr std::array<std::string_view, 4> kSuffixes = {kBesideDatabases[0], kBesideDatabases[1],
                                                       kBesideDatabases[2], ""};

fs::path with_suffix(const fs::path& path, std::string_view suffix) {
  return fs::path(path) += suffix;
}

bool any_exists(const fs::path& path) {
  for (const std::string_view suffix : kSuffixes)
    if (std::error_code unknown; fs::exists(fs::symlink_status(with_suffix(path, suffix), unknown)))
      return true;
  return false;  // where it cannot be found out, renaming says why
}

fs::path free_name(const fs::path& path) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  // The name has no colons, so that it can be copied to other file systems.
  const fs::path wanted =
      with_suffix(path, fmt::format(".damaged-{:%Y-%m-%dT%H%M%SZ}", fmt::gmtime(now)));
  fs::path name = wanted;
  for (int number = 2; any_exists(name); ++number)
    name = with_suffix(wanted, fmt::format("-{}", number));
  return name;
}

}  // namespace

fs::path set_aside(const fs::path& path, int wait_ms, const std::function<bool()>& still_damaged) {
  const fs::path folder = path.parent_path();
  const FolderLock lock(folder, FolderLock::Kind::kExclusive, wait_ms);
  if (lock.error() == EWOULDBLOCK)
    fail(ErrorCode::kDatabase,
         "{} is damaged and cannot be renamed: another program holds a lock on {}; try again when "
         "it has ended, or move the file away yourself",
         path.string(), folder.string());
  if (lock.error() != 0)
    fail(ErrorCode::kIo, "cannot lock the folder {}: {}; check its permissions", folder.string(),
         std::strerror(lock.error()));
  if (!still_damaged()) return {};
  const fs::path aside = free_name(path);
  for (const std::string_view suffix : kSuffixes) {
    std::error_code error;
    fs::rename(with_suffix(path, suffix), with_suffix(aside, suffix), error);
    if (error && !(error == std::errc::no_such_file_or_directory && !suffix.empty()))
      fail(ErrorCode::kIo, "{} is damaged and cannot be renamed to {}: {}; move it away yourself",
           path.string(), aside.string(), error.message());
  }
  return aside;
}

}  // namespace rooftile
