// A lock on a folder, which leaves no lock file behind and ends with the process that holds it.
// Internal to db/.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rooftile {

class FolderLock {
 public:
  enum class Kind : std::uint8_t {
    kShared,     // held while a file of the folder is being opened
    kExclusive,  // held while files of the folder are renamed
  };

  /// Waits for the lock for at most wait_ms: whoever may read a folder can lock it for ever.
  FolderLock(const std::filesystem::path& folder, Kind kind, int wait_ms);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// 0 where the lock is held; otherwise errno of open() or flock(). EWOULDBLOCK: another process
  /// held it all the time.
  int error() const { return error_; }

 private:
  int descriptor_;
  int error_ = 0;
};

}  // namespace rooftile
