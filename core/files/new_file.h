// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "core/files/file_descriptor.h"
#include "core/files/temporary_name.h"

namespace rooftile {

/// Is written under a temporary name in the target's folder and renamed by commit(). Until then the
/// file that is there stays, and nothing stays of one that is never complete, not even when a
/// signal ends the program (remove_temporary_files). Permissions of a file that is there are kept.
/// Errors: kIo, naming the file as given and what the system said; also for a target that is no
/// regular file. Not thread-safe.
class NewFile {
 public:
  /// target: links resolved; named: as the user has named it.
  NewFile(std::filesystem::path target, std::string named);

  /// The file until it is renamed; both its name and its descriptor may be written to.
  const std::string& path() const { return temporary_.path(); }
  int descriptor() const { return file_.get(); }

  /// Syncs the file before it is renamed, so that a power cut cannot leave an incomplete one under
  /// the new name.
  void commit();

 private:
  std::filesystem::path target_;
  std::string named_;
  TemporaryName temporary_;
  FileDescriptor file_;
};

/// Throws kIo: the file cannot be written because of this errno.
[[noreturn]] void fail_to_write(const std::string& named, int error);

}  // namespace rooftile
