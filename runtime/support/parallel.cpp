#include "runtime/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace rooftile {

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t most = count / std::max<std::int64_t>(grain, 1);
  if (most <= 1) return body(0, count);  // Finding the number of processors costs 6 us.
  const auto ranges =
      std::min<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()), most);
  std::vector<std::jthread> threads;
  for (std::int64_t r = 1; r < ranges; ++r)
    threads.emplace_back(
        [&body, begin = r * count / ranges, end = (r + 1) * count / ranges] { body(begin, end); });
  body(0, count / ranges);
}

void parallel_tasks(std::int64_t count, std::int64_t workers,
                    const std::function<void(std::int64_t, std::int64_t)>& body) {
  std::atomic<std::int64_t> next = 0;
  parallel_ranges(std::min(count, workers), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t i = next++; i < count; i = next++) body(worker, i);
  });
}

}  // namespace rooftile
