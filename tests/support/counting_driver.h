// A Vulkan driver with hardware counters (VK_KHR_performance_query), over one that has none. Linked
// into a test program in front of the faulty driver. Its counters follow from the workgroups that
// are dispatched between the begin and the end of a query, each in its own pass, and it is as
// strict as the specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rooftile {

/// Of the whole process. Thread-safe. $ROOFTILE_TEST_COUNTERS, for worker processes, holds the name
/// of a fault from the start, or "absent".
class CountingDriver {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kAbsent,       // "absent": no extension
    kLockRefused,  // "lock_refused": vkAcquireProfilingLockKHR times out
    kNotReady,     // "not_ready": results are never there
    kLost,         // "lost": the device, in the submission that counts
    kCrash,        // "crash": the process, in the submission that counts
    kHang,         // "hang": the same
  };
  static void set(Fault fault);
  /// So many counters more, each of which takes a pass of its own.
  static void set_more_counters(int counters);

  // Since the process began.
  static int locks_taken();
  static int locks_held();
  static int query_pools();  // that were not destroyed
  /// What the specification does not allow; results are refused from the first one on.
  static std::vector<std::string> violations();
};

// What it counts: of each workgroup.
inline constexpr double kCountedReadBytes = 4096, kCountedWrittenBytes = 1024, kCountedCycles = 7;

}  // namespace rooftile
