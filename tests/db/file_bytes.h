// File contents as bytes, for tests that damage files or expect them unchanged.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "core/hash.h"
#include "tests/support/file_text.h"

namespace rooftile {

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A tuning database that contains only the marks of SQLite and Rooftile, followed by a text.
inline std::string damaged_database(const std::string& text) {
  return std::string("SQLite format 3") + std::string(53, '\0') + "Roof" + text;
}

/// Hashes of all files in a folder, by name. SQLite's shared memory and empty logs are left out,
/// because readers create both and cannot remove them.
inline std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with("-shm") || (name.ends_with("-wal") && entry.file_size() == 0)) continue;
    files[name] = hash_hex(bytes_of_file(entry.path()));
  }
  return files;
}

}  // namespace rooftile
