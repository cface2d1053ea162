// Counts of problems that programs compute without a tuned bucket. They are kept in memory and
// written to the tuning database from time to time; `rooftile tune --from-log` tunes them.
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

/// Thread-safe. Never reports an error to the caller: if the database is missing, read-only, locked
/// or on a full disk, nothing is written, which is reported on stderr once, and the counts are
/// tried again at the next write. A forked child counts separately and writes nothing.
class UntunedLog {
 public:
  static constexpr std::size_t kEntries = 256;  ///< Limit of problems; later ones are not counted.

  /// `device` must be in the database.
  UntunedLog(std::filesystem::path database, DeviceProfile device);
  /// Writes the remaining counts.
  ~UntunedLog();
  UntunedLog(const UntunedLog&) = delete;
  UntunedLog& operator=(const UntunedLog&) = delete;

  /// Returns the counter of this problem's calls, which lives as long as the log. ld, alpha, and
  /// beta except for beta == 0, make no difference. Null when the table is full or another thread
  /// is using it, because the call must not wait.
  std::atomic<std::int64_t>* counter(const Problem& p);

  /// Writes what was counted since the last write; takes milliseconds. Does nothing in a forked
  /// child.
  void write() noexcept;

 private:
  struct Entry {
    Problem problem;
    std::atomic<std::int64_t> calls = 0;
    std::int64_t written = 0;  ///< Number of calls already written.
  };
  static constexpr std::size_t kSlots = 2 * kEntries;

  void write_every_minute(const std::stop_token& stop);
  void write_changes();
  /// Reports that nothing is written. The caller holds writing_.
  void say(std::string_view why) noexcept;

  const std::filesystem::path database_;
  const DeviceProfile device_;
  const int process_;
  std::array<Entry, kEntries> entries_;
  std::atomic<std::size_t> used_ = 0;  ///< Entries below this index keep their problem for good.
  std::mutex inserting_;
  std::mutex writing_;
  bool said_ = false;
  std::array<std::uint16_t, kSlots> slots_ = {};  ///< Open addressing; entry + 1, 0: free.
  std::unique_ptr<std::jthread> writer_;          ///< Runs in the process that made the log.
};

}  // namespace rooftile
