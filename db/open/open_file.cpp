#include "db/open/open_file.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "core/error.h"
#include "core/sqlite_files.h"
#include "db/open/folder_lock.h"
#include "db/open/prepare_place.h"
#include "db/open/set_aside.h"
#include "db/schema/schema.h"
#include "db/sqlite/sidecars.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// Thrown for a file whose content cannot be used and that set_aside() then renames.
struct Damaged {
  std::string why;
};

bool log_is_empty(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(fs::path(path) += "-wal", missing);
  return missing || bytes == 0;
}

/// Closing the last connection writes the log back into the file. A file of another program or of a
/// newer version must stay unchanged, so this is off until the file is known to be a tuning
/// database. Without a log the option would only leave empty files behind.
class LogUntouched {
 public:
  explicit LogUntouched(Connection& connection) : handle_(connection.database().getHandle()) {
    if (!log_is_empty(connection.path()))
      sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  void release() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr); }

 private:
  sqlite3* handle_;
};

/// quick_check takes 2 to 4 ms a MiB on a slow core, and opening is part of every program's start.
/// A file of the usual size is checked each time; a larger one only when the caller asks for it
/// (OpenCheck::kFull).
constexpr std::int64_t kAlwaysCheckedBytes = 512 << 10;

void check_content(Connection& connection, OpenCheck check) {
  const std::int64_t bytes =
      connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size");
  if (check == OpenCheck::kFull) {
    const std::vector<std::string> damage = find_damage(connection);
    if (!damage.empty()) throw Damaged{damage.front()};
  } else if (bytes <= kAlwaysCheckedBytes) {
    const std::string verdict = connection.text("PRAGMA quick_check(1)");
    if (verdict != "ok") throw Damaged{verdict};
  }
}

/// Whether a file whose content cannot be used is a tuning database of ours: by SQLite's own
/// reading of it, which counts the log, else by the file's first bytes.
bool is_ours(Connection& connection) {
  try {
    return connection.integer("PRAGMA application_id") == kApplicationId;
  } catch (const SQLite::Exception&) {  // not even the header can be used
  }
  constexpr std::size_t kIdOffset = 68;  // www.sqlite.org/fileformat.html
  std::array<unsigned char, kIdOffset + 4> header = {};
  // Of the file that is open: another process may be replacing the one of this name.
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(connection.database().getHandle(), "main", SQLITE_FCNTL_FILE_POINTER,
                           static_cast<void*>(&file)) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr ||
      file->pMethods->xRead(file, header.data(), header.size(), 0) != SQLITE_OK)
    return false;  // no such file, or shorter than that
  std::int64_t id = 0;
  for (std::size_t i = kIdOffset; i < header.size(); ++i) id = id << 8 | header[i];
  return std::equal(kDatabaseBegin.begin(), kDatabaseBegin.end(), header.begin()) &&
         id == kApplicationId;
}

/// Damaged for a tuning database, an Error for a file that is something else.
[[noreturn]] void throw_damaged(Connection& connection, const std::string& why,
                                std::string_view named) {
  if (is_ours(connection)) throw Damaged{why};
  fail(ErrorCode::kDatabase,
       "{} is not a tuning database ({}); it was left as it is: move it away, or name another "
       "file{}",
       connection.path().string(), why, named);
}

/// SQLite fills a last page that was cut short with zeros and takes a file of one byte for an empty
/// one. Only a log that is being written back explains such a size.
void check_size(Connection& connection, std::string_view named) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(connection.path(), missing);
  const auto page_bytes = static_cast<std::uintmax_t>(connection.integer("PRAGMA page_size"));
  if (!missing && bytes % page_bytes != 0 && log_is_empty(connection.path()))
    throw_damaged(connection,
                  fmt::format("{} bytes are no whole number of pages of {}", bytes, page_bytes),
                  named);
}

/// Throws kDatabase for a file of another program and for one of another version of Rooftile.
void refuse_unusable(const FileIdentity& identity, const std::string& file,
                     std::string_view named) {
  if (identity.owner == Owner::kOtherProgram)
    fail(ErrorCode::kDatabase,
         "{} is a SQLite database of another program (application id {}); it was left as it is: "
         "name another file{}",
         file, identity.application_id, named);
  if (identity.owner == Owner::kBeforeRelease) {
    const bool last = identity.schema_version == kLastVersionBeforeRelease;
    fail(ErrorCode::kDatabase,
         "{} is a tuning database of before Rooftile 0.1.0 (schema version {}); it was left as it "
         "is: {}, or name another file{}",
         file, identity.schema_version,
         last ? "move it and the files that begin with its name into another folder, from where "
                "`rooftile db import` brings its data into a new one"
              : fmt::format("only version {} can be imported; move it away and tune anew",
                            kLastVersionBeforeRelease),
         named);
  }
  if (identity.owner == Owner::kRooftile && identity.schema_version > kSchemaVersion)
    fail(ErrorCode::kDatabase,
         "{} has schema version {}, but this Rooftile knows versions up to {}; it was left as it "
         "is: update Rooftile, or name another file{}",
         file, identity.schema_version, kSchemaVersion, named);
}

/// Throws Damaged, and Error for files that are refused.
void inspect(Connection& connection, const StoreOptions& options) {
  try {
    const FileIdentity identity = identify(connection);
    // Again: this was the first read, with which SQLite has opened the files beside the database.
    refuse_strange_sidecars(connection.path());
    refuse_unusable(identity, connection.path().string(), options.named);
    check_size(connection, options.named);
    if (identity.owner == Owner::kNone && options.mode == OpenMode::kReadOnly && !options.foreign)
      fail(ErrorCode::kDatabase, "{} is empty; `rooftile tune` fills it, or name another file{}",
           connection.path().string(), options.named);
    if (identity.owner == Owner::kRooftile) {
      if (identity.schema_version < 1)
        throw Damaged{fmt::format("its schema version is {}", identity.schema_version)};
      check_content(connection, options.check);
    }
  } catch (const SQLite::Exception& error) {
    if (means_damage(error)) throw_damaged(connection, error.what(), options.named);
    throw;
  }
}

void use_write_ahead_log(Connection& connection, std::string_view named) {
  // Changing the mode needs exclusive access to the file, for which SQLite does not wait in every
  // case.
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(connection.busy_timeout_ms());
  std::string mode;
  while (true) {
    try {
      mode = connection.text("PRAGMA journal_mode = WAL");
      if (mode == "wal") return;
      break;
    } catch (const SQLite::Exception& error) {
      constexpr int kPauseMs = 5;
      if (!means_busy(error) || std::chrono::steady_clock::now() > deadline) throw;
      sqlite3_sleep(kPauseMs);
    }
  }
  fail(ErrorCode::kDatabase,
       "the file system of {} cannot hold a write-ahead log (journal mode is '{}'); name a file on "
       "a local disk{}",
       connection.path().string(), mode, named);
}

void set_up(Connection& connection) {
  connection.database().exec("PRAGMA foreign_keys = ON");
  connection.database().exec("PRAGMA cell_size_check = ON");
  // A power cut may lose the last samples, but never the file. The journal needs more
  // (store_journal.cpp).
  connection.database().exec("PRAGMA synchronous = NORMAL");
}

OpenedFile open_read_write(const fs::path& path, const StoreOptions& options) {
  auto connection = std::make_unique<Connection>(path, Access::kReadWrite, options.busy_timeout_ms);
  LogUntouched log_untouched(*connection);
  inspect(*connection, options);
  log_untouched.release();
  // SQLite opens a file that it may not write for reading, without an error.
  if (sqlite3_db_readonly(connection->database().getHandle(), "main") == 1)
    fail(ErrorCode::kDatabase, "{} is read-only; make it writable, or name another file{}",
         path.string(), options.named);
  use_write_ahead_log(*connection, options.named);
  set_up(*connection);
  create_schema(*connection);
  return {.connection = std::move(connection), .note = {}};
}

OpenedFile open_read_only(const fs::path& path, Access access, const StoreOptions& options) {
  auto connection = std::make_unique<Connection>(path, access, options.busy_timeout_ms);
  LogUntouched log_untouched(*connection);
  inspect(*connection, options);
  connection->database().exec("PRAGMA query_only = ON");
  return {.connection = std::move(connection), .note = {}};
}

OpenedFile open_once(const fs::path& path, const StoreOptions& options) {
  // Until the log is open, the file must not be set aside: SQLite opens the log by its name, and
  // would play the log of a new file into the damaged one. Where the folder cannot be locked, as
  // one that may not be read, opening goes on without.
  const FolderLock lock(path.parent_path(), FolderLock::Kind::kShared, options.busy_timeout_ms);
  if (options.mode == OpenMode::kReadWrite) return open_read_write(path, options);
  try {
    return open_read_only(path, Access::kReadOnly, options);
  } catch (const SQLite::Exception& error) {
    // Readers of a write-ahead log share memory through a -shm file. In a folder that cannot be
    // written, and on a full disk, they can do without when there is no log.
    constexpr int kPrimaryCodeMask = 0xff;
    const int code = error.getErrorCode() & kPrimaryCodeMask;
    constexpr std::array kWithoutSharedMemory = {SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_IOERR,
                                                 SQLITE_FULL};
    if (std::ranges::find(kWithoutSharedMemory, code) == kWithoutSharedMemory.end() ||
        !log_is_empty(path))
      throw;
    return open_read_only(path, Access::kImmutable, options);
  }
}

bool is_damaged(const fs::path& path, const StoreOptions& options) {
  try {
    Connection connection(path, Access::kReadOnly, options.busy_timeout_ms);
    LogUntouched log_untouched(connection);
    inspect(connection, options);
    return !find_broken_rules(connection).empty();
  } catch (const Damaged&) {
    return true;
  } catch (const SQLite::Exception&) {
    return false;  // gone, or locked by the process that creates a new one: the next attempt will
                   // show
  } catch (const Error&) {
    return false;
  }
}

/// Device and number of the file that has this name now; zeros where there is none.
std::array<std::uint64_t, 2> file_number(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

OpenedFile open_file(const fs::path& path, const StoreOptions& options) {
  prepare_place(path, options);
  std::string note;
  try {
    // Two attempts are usual. More are needed only if new files are damaged at once, which Rooftile
    // cannot repair.
    constexpr int kAttempts = 4;
    for (int attempt = 1;; ++attempt) {
      const auto number = file_number(path);
      try {
        OpenedFile opened = open_once(path, options);
        opened.note = note;
        return opened;
      } catch (const Damaged& damage) {
        if (options.mode == OpenMode::kReadOnly)
          fail(ErrorCode::kDatabase,
               "{} is damaged ({}); `rooftile tune` sets it aside and starts a new one, or name "
               "another file{}",
               path.string(), damage.why, options.named);
        if (attempt == kAttempts)
          fail(ErrorCode::kDatabase,
               "{} is damaged repeatedly ({}); check the disk and look with `rooftile db check`, "
               "then restore a copy or move it away, or name another file{}",
               path.string(), damage.why, options.named);
        const fs::path aside =
            set_aside(path, options.busy_timeout_ms, [&] { return is_damaged(path, options); });
        if (!aside.empty())
          note = fmt::format("{} was damaged ({}); it is kept as {}, and a new one was started",
                             path.string(), damage.why, aside.string());
      } catch (const SQLite::Exception&) {
        // Another process may have set the file aside while this one was opening it.
        if (attempt == kAttempts || file_number(path) == number) throw;
      }
    }
  } catch (const SQLite::Exception& error) {
    rethrow(error, path, "opening the tuning database", options.named);
  }
}

}  // namespace rooftile
