#include "db/exchange/limited_length.h"

#include <sqlite3.h>

namespace rooftile {
namespace {

constexpr int kLongestValueBytes =
    16 << 20;  // the longest of Rooftile's values, compiler statistics, take some KiB

}  // namespace

LimitedLength::LimitedLength(Connection& connection)
    : connection_(connection),
      before_(sqlite3_limit(connection.database().getHandle(), SQLITE_LIMIT_LENGTH,
                            kLongestValueBytes)) {}

LimitedLength::~LimitedLength() {
  sqlite3_limit(connection_.database().getHandle(), SQLITE_LIMIT_LENGTH, before_);
}

}  // namespace rooftile
