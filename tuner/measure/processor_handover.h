// Core-to-core latency of this process's processors. Threads that share one GEMM exchange cache
// lines all the time; a hypervisor may at any moment move its machines' virtual processors to other
// physical ones.
#pragma once

#include <optional>

namespace rooftile {

/// Returns the round-trip time of a cache line between two processors in ns: the shortest of some
/// hundreds, between the first and the last of the processors that the calling thread may use.
/// Takes a fraction of a millisecond. No value if there is only one processor, or threads cannot be
/// bound to processors. The calling thread's affinity is restored. Thread-safe.
std::optional<double> processor_handover_ns();

}  // namespace rooftile
