// Makes SQLite's writes fail, for root as well.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <stdexcept>

namespace rooftile {

/// During the lifetime of an object, all writes to databases of this process fail after the given
/// number. One at a time. Thread-safe.
class FailingWrites {
 public:
  static constexpr int kNever = std::numeric_limits<int>::max();

  FailingWrites(int good_writes, int error) {
    good_ = left_ = good_writes;
    error_ = error;
    chooses_ = nullptr;
    replace(reinterpret_cast<sqlite3_syscall_ptr>(&write));
  }
  /// Writes fail from the one on for which fails(), given the code that it returns to, is true.
  FailingWrites(bool (*fails)(const void* caller), int error) : FailingWrites(kNever, error) {
    chooses_ = fails;
  }
  ~FailingWrites() { replace(nullptr); }
  FailingWrites(const FailingWrites&) = delete;
  FailingWrites& operator=(const FailingWrites&) = delete;

  /// Number of writes that succeeded.
  static int written() { return good_ - left_; }

 private:
  static void replace(sqlite3_syscall_ptr function) {
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    for (const char* call : {"pwrite", "pwrite64"})
      if (vfs->xSetSystemCall(vfs, call, function) != SQLITE_OK)
        throw std::runtime_error("SQLite's system calls cannot be replaced");
  }
  static ssize_t write(int descriptor, const void* bytes, std::size_t count, off_t offset) {
    if (const auto fails = chooses_.load(); fails && fails(__builtin_return_address(0))) left_ = 0;
    if (left_ <= 0) {
      errno = error_;
      return -1;
    }
    --left_;
    return ::pwrite(descriptor, bytes, count, offset);
  }

  static inline std::atomic<int> good_ = kNever, left_ = kNever, error_ = 0;
  static inline std::atomic<bool (*)(const void*)> chooses_ = nullptr;
};

}  // namespace rooftile
