// Settings of SQLite for the targets that open thousands of databases: no locks, and memory that
// costs less than AddressSanitizer's, which is half of the time of opening.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <cstring>

extern "C" void* __libc_realloc(void* memory, std::size_t bytes);  // NOLINT: the C library's own.

namespace rooftile {

/// SQLite's memory. SQLite is not instrumented, so that AddressSanitizer watches only what this
/// program does with what SQLite returns: a target says when that is worth its time.
class SqliteMemory {
 public:
  static inline bool is_watched = false;

  static void* allocate(int bytes) { return resized(nullptr, {bytes, is_watched}); }
  static void release(void* memory) {
    if (memory == nullptr) return;
    void* const block = static_cast<char*>(memory) - kHead;
    if (head(memory).is_watched)
      std::free(block);
    else
      __libc_realloc(block, 0);
  }
  static void* resize(void* memory, int bytes) {
    return resized(memory, {bytes, head(memory).is_watched});
  }
  static int size(void* memory) { return head(memory).bytes; }
  static int round_up(int bytes) { return (bytes + 7) / 8 * 8; }
  static int start(void*) { return SQLITE_OK; }
  static void stop(void*) {}

 private:
  struct Head {
    int bytes;
    bool is_watched;
  };
  static constexpr std::size_t kHead = 16;  // a multiple of every type's alignment

  static Head head(void* memory) {
    Head head = {};
    std::memcpy(&head, static_cast<char*>(memory) - kHead, sizeof head);
    return head;
  }
  static void* resized(void* memory, Head head) {
    void* const block = memory == nullptr ? nullptr : static_cast<char*>(memory) - kHead;
    const std::size_t bytes = kHead + static_cast<std::size_t>(head.bytes);
    void* const resized =
        head.is_watched ? std::realloc(block, bytes) : __libc_realloc(block, bytes);
    if (resized == nullptr) return nullptr;
    std::memcpy(resized, &head, sizeof head);
    return static_cast<char*>(resized) + kHead;
  }
};

/// Whether SQLite took the settings, before its first use. Pages are copied before they are
/// returned, so that their memory need not be watched.
inline const bool kIsSqliteSet = [] {
  constexpr int kPageBytes = 4400, kPages = 1024;  // a page of 4096 and what SQLite adds to it
  static std::array<char, std::size_t{kPageBytes} * kPages> pages;
  static const sqlite3_mem_methods memory = {
      SqliteMemory::allocate, SqliteMemory::release, SqliteMemory::resize, SqliteMemory::size,
      SqliteMemory::round_up, SqliteMemory::start,   SqliteMemory::stop,   nullptr};
  return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_PAGECACHE, pages.data(), kPageBytes, kPages) == SQLITE_OK;
}();

}  // namespace rooftile
