// Detection of other programs that used the processors while this process wanted to run, for work
// on the host's processors, software devices included.
#pragma once

#include <cstdint>

namespace rooftile {

/// Counters of this process; only differences are meaningful.
struct ProcessorTime {
  double wall_ns = 0, cpu_ns = 0;  ///< cpu_ns is that of all threads.
  std::int64_t preemptions = 0;    ///< Times that the scheduler preempted a thread.
  /// Average number of busy processors.
  double occupancy() const { return wall_ns > 0 ? cpu_ns / wall_ns : 0; }
};
ProcessorTime processor_time_now();
ProcessorTime& operator+=(ProcessorTime& total, const ProcessorTime& more);
ProcessorTime operator-(const ProcessorTime& later, const ProcessorTime& earlier);

/// Returns the share of processor time that a piece of work did not get. usual_occupancy is the
/// most that the same work had before, because kernels that leave half of the processors idle by
/// themselves are no sign of a disturbance. 0 for work that is too short, and for small shares that
/// no preemption explains.
double busy_share(const ProcessorTime& used, double usual_occupancy);

}  // namespace rooftile
