// A fake Vulkan driver with hardware counters (VK_KHR_performance_query) over a real driver that
// has none. It is linked into a test program in front of the faulty driver. It computes the
// counters from the workgroups that are dispatched between the begin and the end of a query, one
// counter a pass, and refuses every use that the specification does not allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// Access to the driver's state, which the whole process shares. Thread-safe. Worker processes
/// take the name of a fault, or "absent", from $ROOFTILE_TEST_COUNTERS when they start.
class CountingDriver {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kAbsent,       // "absent": the extension is missing
    kLockRefused,  // "lock_refused": vkAcquireProfilingLockKHR times out
    kNotReady,     // "not_ready": results never become available
    kLost,         // "lost": the device is lost in the submission that counts
    kCrash,        // "crash": the process crashes in the submission that counts
    kHang,         // "hang": the process hangs in the submission that counts
  };
  static void set(Fault fault);
  /// Adds that many counters, each of which takes a pass of its own.
  static void set_more_counters(int counters);

  // Counts since the process began.
  static int locks_taken();
  static int locks_held();
  static int query_pools();  // Number of pools that are not destroyed.
  /// Returns the uses that the specification does not allow. After the first one, the driver
  /// returns no results.
  static std::vector<std::string> violations();
};

// Values that each workgroup adds to the counters.
inline constexpr double kCountedReadBytes = 4096, kCountedWrittenBytes = 1024, kCountedCycles = 7;

}  // namespace rooftile
