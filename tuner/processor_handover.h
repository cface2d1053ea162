// How near the processors of this process are to each other. Threads that share one product hand
// cache lines to each other all the time; a hypervisor may move its machines' processors between
// caches from one moment to the next.
#pragma once

#include <optional>

namespace rooftile {

/// A cache line's way from one processor to another and back, in ns: the shortest of some hundreds,
/// between the first and the last of the processors that the calling thread may use. Takes a
/// fraction of a millisecond. None if there is one processor only, or threads cannot be bound to
/// processors. The calling thread may use afterwards what it might before. Thread-safe.
std::optional<double> processor_handover_ns();

}  // namespace rooftile
