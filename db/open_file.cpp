#include "db/open_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "core/error.h"
#include "db/file_place.h"
#include "db/older_file.h"
#include "db/schema.h"
#include "db/set_aside.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The file's content is not usable and not another program's: what set_aside is for.
struct Damaged {
  std::string why;
};

bool log_is_empty(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(fs::path(path) += "-wal", missing);
  return missing || bytes == 0;
}

/// Closing the last connection writes the log back into the file. Nothing of the kind may happen to
/// a file that turns out to be somebody else's or newer, so that is off until the file is known to
/// be ours. Without a log the option would only leave empty files behind.
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
/// A file of the size that most people have is checked each time; a bigger one when somebody asks
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

/// SQLite fills a last page that was cut short with zeros and takes a file of one byte for an empty
/// one. Only a log that is being written back explains such a size.
void check_size(Connection& connection) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(connection.path(), missing);
  const auto page_bytes = static_cast<std::uintmax_t>(connection.integer("PRAGMA page_size"));
  if (!missing && bytes % page_bytes != 0 && log_is_empty(connection.path()))
    throw Damaged{fmt::format("{} bytes are no whole number of pages of {}", bytes, page_bytes)};
}

/// Throws Damaged, and Error for files that are refused.
FileIdentity inspect(Connection& connection, OpenCheck check) {
  try {
    const FileIdentity identity = identify(connection);
    refuse_unusable(identity, connection);
    check_size(connection);
    if (identity.owner == Owner::kRooftile) {
      if (identity.schema_version < 1)
        throw Damaged{fmt::format("its schema version is {}", identity.schema_version)};
      check_content(connection, check);
    }
    return identity;
  } catch (const SQLite::Exception& error) {
    if (means_damage(error)) throw Damaged{error.what()};
    throw;
  }
}

void use_write_ahead_log(Connection& connection) {
  // Changing the mode needs the file for itself, and SQLite does not wait for that by itself in
  // every case.
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
       "a local disk with "
       "ROOFTILE_DB or --db",
       connection.path().string(), mode);
}

void set_up(Connection& connection) {
  connection.database().exec("PRAGMA foreign_keys = ON");
  connection.database().exec("PRAGMA cell_size_check = ON");
  // A power cut may take the last samples, never the file. The journal asks for more
  // (store_journal.cpp).
  connection.database().exec("PRAGMA synchronous = NORMAL");
}

OpenedFile open_read_write(const fs::path& path, const StoreOptions& options) {
  auto connection = std::make_unique<Connection>(path, Access::kReadWrite, options.busy_timeout_ms);
  LogUntouched log_untouched(*connection);
  const FileIdentity identity = inspect(*connection, options.check);
  log_untouched.release();
  // SQLite opens a file that it may not write for reading, and says nothing.
  if (sqlite3_db_readonly(connection->database().getHandle(), "main") == 1)
    fail(ErrorCode::kDatabase,
         "{} is read-only; make it writable, or name another file with ROOFTILE_DB or --db",
         path.string());
  use_write_ahead_log(*connection);
  set_up(*connection);
  if (identity.schema_version < newest_schema_version()) migrate(*connection);
  return {.connection = std::move(connection), .note = {}, .older = {}};
}

std::unique_ptr<Connection> migrated_copy_of_sound(Connection& file) try {
  return migrated_copy(file);
} catch (const SQLite::Exception& error) {
  if (means_damage(error)) throw Damaged{error.what()};
  throw;
}

OpenedFile open_read_only(const fs::path& path, Access access, const StoreOptions& options) {
  auto connection = std::make_unique<Connection>(path, access, options.busy_timeout_ms);
  LogUntouched log_untouched(*connection);
  const FileIdentity identity = inspect(*connection, options.check);
  std::optional<OlderFile> older;
  if (identity.schema_version < newest_schema_version()) {
    const std::int64_t page_bytes = connection->integer("PRAGMA page_size");
    older = {.schema_version = static_cast<int>(identity.schema_version),
             .access = access,
             .file_bytes = connection->integer("PRAGMA page_count") * page_bytes,
             .free_bytes = connection->integer("PRAGMA freelist_count") * page_bytes};
    connection = migrated_copy_of_sound(*connection);
  }
  connection->database().exec("PRAGMA query_only = ON");
  return {.connection = std::move(connection), .note = {}, .older = older};
}

OpenedFile open_once(const fs::path& path, const StoreOptions& options) {
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
    inspect(connection, options.check);
    return false;
  } catch (const Damaged&) {
    return true;
  } catch (const SQLite::Exception&) {
    return false;  // gone, or locked by whoever makes a new one: the next attempt will tell
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

OpenedFile open_file(const fs::path& path, const StoreOptions& options) {
  prepare_place(path, options.mode);
  std::string note;
  try {
    // Twice is the rule; more only if new files go bad at once, and then it is not ours to mend.
    constexpr int kAttempts = 4;
    for (int attempt = 1;; ++attempt) {
      try {
        OpenedFile opened = open_once(path, options);
        opened.note = note;
        return opened;
      } catch (const Damaged& damage) {
        if (options.mode == OpenMode::kReadOnly)
          fail(ErrorCode::kDatabase,
               "{} is damaged ({}); `rooftile tune` sets it aside and starts a new one, or name "
               "another file with "
               "ROOFTILE_DB or --db",
               path.string(), damage.why);
        if (attempt == kAttempts)
          fail(ErrorCode::kDatabase,
               "{} is damaged again and again ({}); check the disk, or name another file with "
               "ROOFTILE_DB or --db",
               path.string(), damage.why);
        const fs::path aside = set_aside(path, [&] { return is_damaged(path, options); });
        if (!aside.empty())
          note = fmt::format("{} was damaged ({}); it is kept as {}, and a new one was started",
                             path.string(), damage.why, aside.string());
      }
    }
  } catch (const SQLite::Exception& error) {
    rethrow(error, path, "opening the tuning database");
  }
}

}  // namespace rooftile
