// How a tuning database is opened.
#pragma once

#include <cstdint>
#include <string_view>

namespace rooftile {

enum class OpenMode : std::uint8_t {
  // Creates the file, and the folders of own_database_path(), where they are missing.
  kReadWrite,
  // Never writes; a missing file is the error kDatabase.
  kReadOnly,
};

enum class OpenCheck : std::uint8_t {
  kQuick,  // header and schema, and every page of a file of up to 512 KiB: takes 2 ms
  kFull,   // SQLite's integrity check of the whole file: takes seconds for a large one
};

inline constexpr std::string_view kNamedByDefault = " with ROOFTILE_DB or --db";

struct StoreOptions {
  OpenMode mode = OpenMode::kReadWrite;
  OpenCheck check = OpenCheck::kQuick;
  int busy_timeout_ms = 10'000;  // how long a call waits for another process's transaction
  // A file of another machine or user, with kReadOnly: it is refused where an import would refuse
  // it, with an altered schema, damage, or values that no Rooftile writes. Its texts are not
  // cleaned.
  bool foreign = false;
  // How the user named the file. It follows "name another file" in the messages of the constructor.
  // A literal that begins with a space.
  std::string_view named = kNamedByDefault;
};

}  // namespace rooftile
