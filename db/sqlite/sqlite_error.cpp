#include "db/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include "db/sqlite/database_locked.h"

namespace rooftile {
namespace {

struct Remedy {
  int sqlite_code;  // primary result code
  ErrorCode code;
  std::string_view advice;
};

constexpr Remedy kRemedies[] = {
    {SQLITE_BUSY, ErrorCode::kDatabase,
     "another program keeps the file locked; wait for it, or find it with `fuser` and stop it"},
    {SQLITE_LOCKED, ErrorCode::kDatabase, "finish reading from this store before writing to it"},
    {SQLITE_READONLY, ErrorCode::kDatabase, "make the file and its folder writable,"},
    {SQLITE_FULL, ErrorCode::kIo,
     "the disk is full, and nothing of this step was kept: free some space,"},
    {SQLITE_IOERR, ErrorCode::kIo, "the file could not be read or written: check the disk,"},
    {SQLITE_CANTOPEN, ErrorCode::kIo,
     "check that the folder exists and that you may read and write it,"},
    {SQLITE_PERM, ErrorCode::kIo, "check the file's permissions,"},
    {SQLITE_NOLFS, ErrorCode::kIo, "the file system cannot hold a file of this size: move it,"},
    {SQLITE_CORRUPT, ErrorCode::kDatabase,
     "the file is damaged: `rooftile db check` tells what is wrong, `rooftile tune` starts a new "
     "one,"},
    {SQLITE_NOTADB, ErrorCode::kDatabase,
     "the file is damaged: `rooftile db check` tells what is wrong, `rooftile tune` starts a new "
     "one,"},
    {SQLITE_CONSTRAINT, ErrorCode::kInvalidArgument,
     "the values break a rule of the table (or name a row that does not exist); correct them"},
    {SQLITE_NOMEM, ErrorCode::kOutOfMemory, "free some memory and try again"},
};

int primary_code(const SQLite::Exception& error) {
  constexpr int kPrimaryCodeMask = 0xff;
  return error.getErrorCode() & kPrimaryCodeMask;
}

}  // namespace

bool means_damage(const SQLite::Exception& error) {
  const int code = primary_code(error);
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

bool means_busy(const SQLite::Exception& error) { return primary_code(error) == SQLITE_BUSY; }

bool means_broken_rule(const SQLite::Exception& error) {
  const int code = primary_code(error);
  return code == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG || code == SQLITE_MISMATCH;
}

void rethrow(const SQLite::Exception& error, const std::filesystem::path& path,
             std::string_view doing, std::string_view named) {
  if (error.getExtendedErrorCode() == SQLITE_READONLY_DBMOVED)
    fail(ErrorCode::kDatabase, "{}: {} was moved or deleted while it was open; open it again",
         doing, path.string());
  for (const Remedy& remedy : kRemedies) {
    if (remedy.sqlite_code != primary_code(error)) continue;
    const bool place_may_be_wrong = remedy.advice.ends_with(',');
    const std::string message = fmt::format(
        "{}: {}: {}; {}{}{}", doing, path.string(), error.what(), remedy.advice,
        place_may_be_wrong ? " or name another file" : "", place_may_be_wrong ? named : "");
    if (remedy.sqlite_code == SQLITE_BUSY) throw DatabaseLocked(message);
    throw Error(remedy.code, message);
  }
  fail(ErrorCode::kDatabase, "{}: {}: {}", doing, path.string(), error.what());
}

}  // namespace rooftile
