#include "db/exchange/foreign_file.h"

#include <sqlite3.h>

#include <memory>
#include <system_error>

#include "core/error.h"
#include "db/exchange/before_release.h"
#include "db/exchange/foreign_text.h"
#include "db/exchange/foreign_values.h"
#include "db/schema/schema.h"
#include "db/sqlite/sidecars.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The file, and how it is spoken of.
struct Foreign {
  const fs::path& file;
  const ForeignUse& use;

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::kDatabase, "{} {}; {}", file.string(), why, use.outcome);
  }
};

/// As in open_file.cpp: where no -shm file can be created next to a file, it can be read as it is,
/// as long as it has no log.
std::unique_ptr<Connection> open_for_reading(const fs::path& file, int busy_timeout_ms) {
  for (const Access access : {Access::kReadOnly, Access::kImmutable}) {
    try {
      auto connection = std::make_unique<Connection>(file, access, busy_timeout_ms);
      connection->integer("PRAGMA schema_version");
      refuse_strange_sidecars(file);  // again: SQLite has opened them with this first read
      return connection;
    } catch (const SQLite::Exception& error) {
      std::error_code missing;
      const std::uintmax_t log_bytes = fs::file_size(fs::path(file) += "-wal", missing);
      const bool no_log = missing || log_bytes == 0;
      if (access == Access::kImmutable || means_damage(error) || means_busy(error) || !no_log)
        throw;
    }
  }
  fail(ErrorCode::kInternal, "{} was not opened", file.string());
}

void refuse_other_than_files(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::none)
    fail(ErrorCode::kIo, "cannot look at {}: {}; check the path", file.string(), error.message());
  if (!fs::exists(status))
    fail(ErrorCode::kIo, "there is no file {}; `rooftile db export` makes one", file.string());
  if (fs::is_directory(status))
    fail(ErrorCode::kIo, "{} is a folder; name a file in it", file.string());
  if (!fs::is_regular_file(status))
    fail(ErrorCode::kIo, "{} is not a regular file; copy it to a disk first", file.string());
}

void check_identity(Connection& connection, const Foreign& foreign) {
  const FileIdentity identity = identify(connection);
  if (identity.owner == Owner::kBeforeRelease)
    foreign.refuse("is of before Rooftile 0.1.0, and only `rooftile db import` reads it");
  if (identity.owner != Owner::kRooftile) foreign.refuse("is no tuning database");
  if (identity.schema_version > kSchemaVersion)
    foreign.refuse(
        fmt::format("has schema version {}, but this Rooftile knows versions up to {}: "
                    "update Rooftile",
                    identity.schema_version, kSchemaVersion));
  if (identity.schema_version < 1)
    foreign.refuse(fmt::format("is damaged (its schema version is {})", identity.schema_version));
}

void check_content(Connection& connection, const Foreign& foreign) {
  connection.database().exec("PRAGMA cell_size_check = ON");
  // This comes first, because the statements below evaluate the schema's CHECKs.
  if (const auto differences = compare_schema(connection); !differences.empty())
    foreign.refuse(fmt::format("is no tuning database as Rooftile makes it ({})", differences[0]));
  if (const auto damage = find_damage(connection); !damage.empty())
    foreign.refuse(fmt::format("is damaged ({}): ask for a new export", damage.front()));
  SQLite::Statement strays(connection.database(), "PRAGMA foreign_key_check");
  if (strays.executeStep())
    foreign.refuse(fmt::format("is damaged (rows of {} refer to rows of {} that do not exist)",
                               strays.getColumn(0).getString(), strays.getColumn(2).getString()));
}

}  // namespace

ForeignFile::ForeignFile(Connection& own, const fs::path& file, const ForeignUse& use) : own_(own) {
  const Foreign foreign{.file = file, .use = use};
  refuse_other_than_files(file);
  try {
    std::unique_ptr<Connection> theirs = open_for_reading(file, own.busy_timeout_ms());
    if (use.converts && identify(*theirs).owner == Owner::kBeforeRelease) {
      if (const std::string wrong = convert_before_release(*theirs, copy_); !wrong.empty())
        foreign.refuse(wrong);
      theirs = open_for_reading(copy_.path(), own.busy_timeout_ms());
    }
    theirs->limit_values();
    check_identity(*theirs, foreign);
    check_content(*theirs, foreign);
    own_.attach(theirs->path(), theirs->access(), "theirs");
  } catch (const SQLite::Exception& failure) {
    if (failure.getErrorCode() == SQLITE_NOTADB) foreign.refuse(use.no_database);
    if (means_damage(failure)) foreign.refuse(fmt::format("is damaged ({})", failure.what()));
    rethrow(failure, file, "reading a database of elsewhere", "");
  }
}

ForeignFile::~ForeignFile() { own_.database().tryExec("DETACH theirs"); }

void refuse_foreign(const fs::path& file, const StoreOptions& options) {
  const std::string outcome =
      fmt::format("nothing of it was read: name another file{}", options.named);
  const ForeignUse use{.no_database = "is not a tuning database", .outcome = outcome};
  Connection checking(file, Access::kMemory, options.busy_timeout_ms);
  const ForeignFile theirs(checking, file, use);
  checking.limit_values();
  add_text_functions(checking);
  try {
    if (const std::string_view found = find_suspicious(checking); !found.empty())
      Foreign{.file = file, .use = use}.refuse(fmt::format("holds {}", found));
  } catch (const SQLite::Exception& failure) {
    rethrow(failure, file, "reading a database of elsewhere", "");
  }
}

}  // namespace rooftile
