// What a Store holds. Inside db/ only: its member functions are spread over store_*.cpp by subject.
#pragma once

#include <optional>

#include "db/connection.h"
#include "db/open_file.h"
#include "db/store.h"

namespace rooftile {

struct Store::Impl {
  StoreOptions options;
  std::string note;
  std::optional<OlderFile> older;  // what connection, in memory, is a migrated copy of
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Connection> query_connection;  // made by the first query()

  /// What SQLite throws in body becomes an Error that says what was being done.
  template <typename Body>
  auto guarded(std::string_view doing, Body&& body) {
    return connection->guarded(doing, body);
  }
};

}  // namespace rooftile
