#include "db/open/file_location.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/sqlite_files.h"

namespace rooftile {

namespace fs = std::filesystem;

namespace {

bool may_be_of_anyone(const struct stat& folder) {
  return (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
}

void refuse_links_of_others(const fs::path& path, int followed) {
  constexpr int kMostLinks = 40;  // The system follows as many.
  std::error_code error;
  fs::path at;
  for (const fs::path& part : fs::absolute(path, error)) {
    const fs::path folder = at.empty() ? fs::path("/") : at;
    at /= part;
    struct stat entry = {}, around = {};
    if (::lstat(at.c_str(), &entry) != 0) return;  // What is not there leads nowhere.
    if (!S_ISLNK(entry.st_mode)) continue;
    if (::stat(folder.c_str(), &around) == 0 && may_be_of_anyone(around) &&
        entry.st_uid != ::geteuid() && entry.st_uid != around.st_uid)
      fail(
          ErrorCode::kIo,
          "{} is a link that another user has made in {}, where everyone may; name the file itself",
          at.string(), folder.string());
    if (followed < kMostLinks)
      refuse_links_of_others(folder / fs::read_symlink(at, error), followed + 1);
  }
}

}  // namespace

void refuse_links_of_others(const fs::path& path) { refuse_links_of_others(path, 0); }

bool is_database(const fs::path& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return false;  // A pipe would be waited for.
  std::array<char, kDatabaseBegin.size()> begin = {};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  return kDatabaseBegin == std::string_view(begin.data(), begin.size());
}

bool is_beside_database(const fs::path& file) {
  const std::string name = file.string();
  return std::ranges::any_of(kBesideDatabases, [&](std::string_view suffix) {
    return name.ends_with(suffix) && is_database(name.substr(0, name.size() - suffix.size()));
  });
}

fs::file_status status_of(const fs::path& path, std::string_view named) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    fail(ErrorCode::kIo, "cannot look at {}: {}; check the path, or name another file{}",
         path.string(), error.message(), named);
  return status;
}

fs::path resolved_path(const fs::path& path, std::string_view named) {
  if (path.empty())
    fail(ErrorCode::kInvalidArgument, "the name of the file is empty; name a file{}", named);
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error)
    fail(ErrorCode::kIo, "{} cannot be resolved: {}; name another file{}", path.string(),
         error.message(), named);
  refuse_links_of_others(absolute);
  fs::path result = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : result;
}

}  // namespace rooftile
