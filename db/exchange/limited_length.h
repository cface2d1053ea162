// A limit of the values that SQLite takes from a file of elsewhere. Internal to db/.
#pragma once

#include "db/sqlite/connection.h"

namespace rooftile {

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
