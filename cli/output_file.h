#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/files/new_file.h"

namespace rooftile {

/// For files that a command is given as an argument, where a slip is to name the input: an existing
/// regular file is refused (kIo), and the message names --force. Files that an option names (-o,
/// --html, --spirv) are replaced, as by a compiler.
void refuse_existing(const std::filesystem::path& path);

/// A file that appears whole or not at all (core/files/new_file.h). A link's target is replaced,
/// not the link. What is no regular file (/dev/null, a pipe) is written directly. Errors: kIo,
/// naming the file and what the system said, also for a link that another user has put where
/// everyone may (db/open/file_location.h); kInvalidArgument where the file is a database of SQLite,
/// or has the name of one that SQLite keeps beside a database. The old file is then still there.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);

  void write(std::string_view bytes);
  template <typename T>
  void write(std::span<const T> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void commit();

 private:
  std::string name_;  // as given, for messages
  std::optional<NewFile> new_;
  FileDescriptor direct_;  // where there is no new file
};

}  // namespace rooftile
