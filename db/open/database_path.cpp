#include "db/open/database_path.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "db/open/file_location.h"

namespace rooftile {
namespace {

std::filesystem::path environment_path(const char* variable) {
  const char* value = ::secure_getenv(variable);
  return value == nullptr ? "" : value;
}

std::filesystem::path home() {
  if (std::filesystem::path folder = environment_path("HOME"); folder.is_absolute()) return folder;
  const passwd* user = ::getpwuid(::geteuid());
  if (user != nullptr && user->pw_dir != nullptr && *user->pw_dir == '/') return user->pw_dir;
  fail(ErrorCode::kIo,
       "neither HOME nor the user's entry names a home folder; name a file with ROOFTILE_DB or "
       "--db");
}

}  // namespace

std::filesystem::path default_database_path() {
  std::filesystem::path file = environment_path("ROOFTILE_DB");
  return file.empty() ? own_database_path() : file;
}

std::filesystem::path own_database_path() {
  // The XDG base directory specification has relative paths ignored.
  std::filesystem::path data = environment_path("XDG_DATA_HOME");
  if (!data.is_absolute()) data = home() / ".local" / "share";
  return data / "rooftile" / "rooftile.db";
}

bool database_exists(const std::filesystem::path& path, std::string_view named) {
  return std::filesystem::exists(status_of(path, named));
}

}  // namespace rooftile
