// A database of another machine, which is checked before its content is used. Internal to db/.
#pragma once

#include <filesystem>

#include "db/sqlite/connection.h"

namespace rooftile {

/// Attaches such a file to a connection as the schema `theirs` until the end of the scope. The file
/// itself is only read; one of an older version is attached as a migrated copy in the temporary
/// folder. What is attached is complete and sound, has exactly the schema of its version, and all
/// its references have a target. The constructor throws kIo for a missing file, and kDatabase for a
/// file of another program or a newer Rooftile and for one that is damaged or altered; the message
/// names the file and the defect.
class ForeignFile {
 public:
  /// file is absolute, and own has no open transaction.
  ForeignFile(Connection& own, const std::filesystem::path& file);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

 private:
  Connection& own_;
  std::filesystem::path copy_;  // empty: the file itself is attached
};

/// While it exists, SQLite refuses values that are longer than any value that Rooftile writes, so
/// that a foreign file cannot exhaust the memory.
class LimitedLength {
 public:
  explicit LimitedLength(Connection& connection);
  ~LimitedLength();
  LimitedLength(const LimitedLength&) = delete;
  LimitedLength& operator=(const LimitedLength&) = delete;

 private:
  Connection& connection_;
  int before_;
};

}  // namespace rooftile
