#pragma once

#include <cstdint>
#include <functional>

namespace rooftile {

/// Calls body(begin, end) for consecutive ranges of [0, count): as many as there are processors,
/// but none shorter than `grain`. A single range runs on the calling thread. Returns when all
/// ranges are done. body must not throw.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

/// Calls body(worker, i) for each i of [0, count), `workers` at a time: whichever is free takes the
/// next i. A single worker is the calling thread. Returns when all are done. body must not throw.
void parallel_tasks(std::int64_t count, std::int64_t workers,
                    const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace rooftile
