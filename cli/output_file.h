#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cli/file_descriptor.h"

namespace rooftile {

/// For files that a command is given as an argument, where a slip is to name the input: an existing
/// regular file is refused (kIo), and the message names --force. Files that an option names (-o,
/// --html, --spirv) are replaced, as by a compiler.
void refuse_existing(const std::filesystem::path& path);

/// A file that appears whole or not at all: written under a temporary name in the same folder and
/// renamed by commit(). A link's target is replaced, not the link; permissions of a file that is
/// there are kept. What is no regular file (/dev/null, a pipe) is written directly.
/// Errors: kIo, naming the file and what the system said, also for a link that another user has put
/// where everyone may (db/open/file_location.h); the old file is then still there.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  template <typename T>
  void write(std::span<const T> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void commit();

 private:
  [[noreturn]] void failed(int error) const;

  std::string name_;               // as given, for messages
  std::filesystem::path target_;   // links resolved
  std::filesystem::path written_;  // temporary name; empty when target_ is written directly
  FileDescriptor file_;
};

}  // namespace rooftile
