#pragma once

namespace rooftile {

/// Bytes that this process can still take without swapping or being killed: the kernel's estimate
/// (MemAvailable of /proc/meminfo, see proc(5)), less where a control group allows less (cgroup
/// v2). Infinity when neither can be read.
double available_memory_bytes();

}  // namespace rooftile
