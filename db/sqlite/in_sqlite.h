// Keeps a forked child away from SQLite where its parent was using it. Internal to db/.
#pragma once

namespace rooftile {

/// While one of these exists, this process may be inside of SQLite. A child that is forked
/// meanwhile has SQLite's mutexes as other threads held them, which nobody releases there, and
/// believes that it holds its parent's locks of files. So in such a child the constructor throws
/// DatabaseLocked. Thread-safe.
class InSqlite {
 public:
  InSqlite();
  ~InSqlite();
  InSqlite(const InSqlite&) = delete;
  InSqlite& operator=(const InSqlite&) = delete;
};

}  // namespace rooftile
