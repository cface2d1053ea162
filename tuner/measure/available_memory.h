#pragma once

namespace rooftile {

/// Returns the bytes that this process can still allocate without swapping or being killed: the
/// kernel's estimate (MemAvailable of /proc/meminfo, see proc(5)), or less where a control group
/// allows less (cgroup v2). Infinity when neither can be read.
double available_memory_bytes();

}  // namespace rooftile
