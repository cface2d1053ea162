// Whether somebody else was running where this process wanted to: for work on the host's
// processors, software devices included.
#pragma once

#include <cstdint>

namespace rooftile {

/// Counters of this process; only differences mean anything.
struct ProcessorTime {
  double wall_ns = 0, cpu_ns = 0;  // cpu_ns: of all threads
  std::int64_t preemptions = 0;    // times that the scheduler took a processor away
  double occupancy() const { return wall_ns > 0 ? cpu_ns / wall_ns : 0; }  // processors at work
};
ProcessorTime processor_time_now();
ProcessorTime& operator+=(ProcessorTime& total, const ProcessorTime& more);
ProcessorTime operator-(const ProcessorTime& later, const ProcessorTime& earlier);

/// Share of its processors' time that a piece of work did not get, where usual_occupancy is the
/// most that the same work had on other occasions: kernels that keep half of the processors idle
/// by themselves are no sign of anything. 0 for work too short to tell, and for small shares that
/// no preemption explains.
double busy_share(const ProcessorTime& used, double usual_occupancy);

}  // namespace rooftile
