#include "db/open/set_aside.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>

#include "core/error.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The files next to a database, and the database itself last: a process that opens it meanwhile
/// must not find a sound new file beside the old log, which SQLite would play back into it.
constexpr std::array<std::string_view, 4> kSuffixes = {"-wal", "-shm", "-journal", ""};

fs::path with_suffix(const fs::path& path, std::string_view suffix) {
  return fs::path(path) += suffix;
}

/// A lock on the folder leaves no lock file behind, and ends with the process that holds it.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    int result = descriptor_ < 0 ? -1 : 0;
    while (descriptor_ >= 0 && (result = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (result == 0) return;
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    fail(ErrorCode::kIo, "cannot lock the folder {}: {}; check its permissions", folder.string(),
         std::strerror(error));
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

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

fs::path set_aside(const fs::path& path, const std::function<bool()>& still_damaged) {
  const FolderLock lock(path.parent_path());
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
