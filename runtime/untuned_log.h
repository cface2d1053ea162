// Problems that programs ask for and that have no tuned bucket, counted in memory and written to
// the tuning database now and then: what `rooftile tune --from-log` tunes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/device_profile.h"
#include "core/problem.h"

namespace rooftile {

/// Thread-safe. Never an error for whoever calls: a database that is gone, read-only, locked or on
/// a full disk takes nothing, which is said on stderr once, and what was counted is tried again at
/// the next write. A process forked from the one that made the log counts for itself and writes
/// nothing.
class UntunedLog {
 public:
  static constexpr std::size_t kEntries = 256;  // problems; later ones are not counted

  /// device: is in the database.
  UntunedLog(std::filesystem::path database, DeviceProfile device);
  /// Writes what is left.
  ~UntunedLog();
  UntunedLog(const UntunedLog&) = delete;
  UntunedLog& operator=(const UntunedLog&) = delete;

  /// Where the calls of this problem are counted, for as long as the log lives; ld, alpha and beta
  /// aside from beta == 0 make no difference. Null when the table is full, or another thread is in
  /// here: the call that asks must not wait.
  std::atomic<std::int64_t>* counter(const Problem& p);

  /// Writes what was counted since the last time; takes milliseconds. Not in a forked child.
  void write() noexcept;

 private:
  struct Entry {
    Problem problem;
    std::atomic<std::int64_t> calls = 0;
    std::int64_t written = 0;  // of calls
  };
  static constexpr std::size_t kSlots = 2 * kEntries;

  void write_every_minute(const std::stop_token& stop);
  void write_changes();
  void say(std::string_view why) noexcept;  // that nothing is written; writing_ is held

  const std::filesystem::path database_;
  const DeviceProfile device_;
  const int process_;
  std::array<Entry, kEntries> entries_;
  std::atomic<std::size_t> used_ = 0;  // entries below it have their problem for good
  std::mutex inserting_;
  std::mutex writing_;
  bool said_ = false;
  std::array<std::uint16_t, kSlots> slots_ = {};  // open addressing; entry + 1, 0: free
  std::unique_ptr<std::jthread> writer_;          // of the process that made it
};

}  // namespace rooftile
