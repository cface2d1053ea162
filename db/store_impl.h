// The state of a Store. Internal to db/. The member functions of Store are defined in store_*.cpp,
// one file for each subject.
#pragma once

#include "db/open/open_file.h"
#include "db/sqlite/connection.h"
#include "db/store.h"

namespace rooftile {

struct Store::Impl {
  StoreOptions options;
  std::string note;
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Connection> query_connection;  // made by the first query()

  /// Runs body and turns an exception of SQLite's into an Error that says what was being done.
  template <typename Body>
  auto guarded(std::string_view doing, Body&& body) {
    return connection->guarded(doing, body);
  }
};

}  // namespace rooftile
