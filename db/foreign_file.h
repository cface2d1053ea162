// A database from elsewhere: checked before anything of it is believed, then readable as `theirs`.
// Inside db/ only.
#pragma once

#include <filesystem>

#include "db/connection.h"

namespace rooftile {

/// Attached to a connection until the end of the scope; the file itself is only read. It is
/// complete, sound, has the schema of its version without additions, and all its references lead
/// somewhere. One of an older version is attached as a migrated copy in the temporary folder.
///
/// Errors: kIo no such file; kDatabase a file of another program, from a newer Rooftile, damaged or
/// altered, naming the file and what is wrong.
class ForeignFile {
 public:
  /// file absolute; own outside a transaction.
  ForeignFile(Connection& own, const std::filesystem::path& file);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

 private:
  Connection& own_;
  std::filesystem::path copy_;  // empty: the file itself is attached
};

/// While it lives nothing longer than a row of ours can be is read from any file: a foreign one
/// cannot fill the memory.
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
