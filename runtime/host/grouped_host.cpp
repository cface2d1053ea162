#include "runtime/host/grouped_host.h"

#include <exception>
#include <mutex>
#include <vector>

#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

// A group of fewer operations takes BLAS less than about a millisecond on one thread, so that
// waking its other threads for each group costs more than they save.
constexpr double kDividedFlops = 3e7;

}  // namespace

void run_grouped_on_host(const HostBlas& blas, const GroupedCall& grouped, Tier tier,
                         HostThreads most) {
  std::vector<GemmCall> calls;
  std::int64_t first_row = 0;
  double largest = 0;
  for (const Group& group : grouped.groups) {
    if (group.rows > 0) {
      calls.push_back(call_of_group(grouped, group, first_row));
      largest = std::max(largest, flops(calls.back().problem));
    }
    first_row += group.rows;
  }
  const bool one_thread = most == HostThreads::kOne || tier == Tier::kHost1;
  if (one_thread || calls.size() < 2 || largest >= kDividedFlops) {
    for (const GemmCall& call : calls) run_on_host(blas, call, tier, most);
    return;
  }
  std::mutex failing;
  std::exception_ptr failure;
  parallel_ranges(
      static_cast<std::int64_t>(calls.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        try {
          for (std::int64_t i = begin; i < end; ++i)
            run_on_host(blas, calls[static_cast<std::size_t>(i)], tier, HostThreads::kOne);
        } catch (...) {
          const std::lock_guard lock(failing);
          failure = std::current_exception();
        }
      });
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace rooftile
