// Record of printed warnings, in memory that a process shares with its forked children: four
// children that meet the same fault print one line. The runtime and the drop-in (runtime/blas),
// which is built without the C++ library, share this header.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace rooftile {

class SaidOnce {
 public:
  /// Creates the record. Call it when the library is loaded, before the process can fork. Never
  /// null and never unmapped. Without shared memory each process has its own record.
  static SaidOnce* make() {
    static constinit SaidOnce own;
    void* const page = ::mmap(nullptr, sizeof(SaidOnce), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? &own : new (page) SaidOnce;
  }

  /// Returns true for the first caller with this key in all processes that share the memory.
  /// Returns false when the memory is full: one more line after hundreds of warnings does not help.
  /// Thread-safe.
  bool first(const char* key) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (; *key != '\0'; ++key) hash = (hash ^ static_cast<unsigned char>(*key)) * 0x100000001b3u;
    hash |= 1;  ///< // 0 marks a free slot.
    for (std::atomic<std::uint64_t>& slot : slots_) {
      std::uint64_t known = 0;
      if (slot.compare_exchange_strong(known, hash)) return true;
      if (known == hash) return false;
    }
    return false;
  }

 private:
  constexpr SaidOnce() = default;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<std::uint64_t> slots_[512] = {};
};

}  // namespace rooftile
