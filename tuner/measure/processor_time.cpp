#include "tuner/measure/processor_time.h"

#include <sys/resource.h>
#include <time.h>

#include "core/clock.h"

namespace rooftile {
namespace {

constexpr double kShortestNs = 0.5e6;  // Below this, occupancy mainly shows the wake-up of threads.
// A hypervisor that gives the processor to another machine causes no preemption.
constexpr double kUnexplainedShare = 0.3;

}  // namespace

ProcessorTime processor_time_now() {
  timespec cpu = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.wall_ns = now_ns(),
          .cpu_ns = 1e9 * static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec),
          .preemptions = usage.ru_nivcsw};
}

ProcessorTime& operator+=(ProcessorTime& total, const ProcessorTime& more) {
  total.wall_ns += more.wall_ns;
  total.cpu_ns += more.cpu_ns;
  total.preemptions += more.preemptions;
  return total;
}

ProcessorTime operator-(const ProcessorTime& later, const ProcessorTime& earlier) {
  return {.wall_ns = later.wall_ns - earlier.wall_ns,
          .cpu_ns = later.cpu_ns - earlier.cpu_ns,
          .preemptions = later.preemptions - earlier.preemptions};
}

double busy_share(const ProcessorTime& used, double usual_occupancy) {
  if (used.wall_ns < kShortestNs || used.occupancy() >= usual_occupancy) return 0;
  const double share = 1 - used.occupancy() / usual_occupancy;
  return used.preemptions > 0 || share > kUnexplainedShare ? share : 0;
}

}  // namespace rooftile
