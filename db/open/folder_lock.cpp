#include "db/open/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace rooftile {

FolderLock::FolderLock(const std::filesystem::path& folder, Kind kind, int wait_ms)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr std::chrono::milliseconds kPause(2);
  const int operation = (kind == Kind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (descriptor_ < 0 || ::flock(descriptor_, operation) != 0) {
    error_ = errno;
    if (descriptor_ < 0 || (error_ != EWOULDBLOCK && error_ != EINTR) ||
        std::chrono::steady_clock::now() > deadline)
      return;
    std::this_thread::sleep_for(kPause);
  }
  error_ = 0;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace rooftile
