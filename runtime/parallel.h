#pragma once

#include <cstdint>
#include <functional>

namespace rooftile {

/// body(begin, end) over [0, count) in as many ranges as there are processors, but none shorter
/// than grain; on this thread alone when that makes one. Returns when all are done. body must not
/// throw.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace rooftile
