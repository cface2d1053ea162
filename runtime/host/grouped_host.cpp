#include "runtime/host/grouped_host.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

// Less work takes a thread about a millisecond, and starting others costs up to a tenth of it, on a
// busy machine more than all of it.
constexpr double kWorthThreads = 1e8;

struct Work {
  GemmCall call;
  double flops;
};

std::vector<Work> work_of(const GroupedCall& grouped) {
  std::vector<Work> work;
  std::int64_t first_row = 0;
  for (const Group& group : grouped.groups) {
    if (group.rows > 0) {
      work.push_back({.call = call_of_group(grouped, group, first_row), .flops = 0});
      work.back().flops = flops(work.back().call.problem);
    }
    first_row += group.rows;
  }
  return work;
}

/// Computes each call on one thread, as many at a time as there are processors: threads that share
/// one call wait for each other, which costs more than it saves where there are calls enough.
void run_beside_each_other(const HostBlas& blas, const std::vector<const GemmCall*>& calls,
                           Tier tier) {
  std::mutex failing;
  std::exception_ptr failure;
  parallel_tasks(std::ssize(calls), blas.threads(), [&](std::int64_t, std::int64_t i) {
    try {
      run_on_host(blas, *calls[static_cast<std::size_t>(i)], tier, HostThreads::kOne);
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
    }
  });
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

void run_grouped_on_host(const HostBlas& blas, const GroupedCall& grouped, Tier tier,
                         HostThreads most) {
  const std::vector<Work> work = work_of(grouped);
  double left = 0;
  for (const Work& x : work) left += x.flops;
  const bool one_thread = most == HostThreads::kOne || tier == Tier::kHost1 || left < kWorthThreads;
  const auto threads = static_cast<double>(one_thread ? 1 : blas.threads());
  // A group that would keep its thread busy for longer than the others have work is divided by
  // BLAS.
  std::vector<const Work*> shared;
  for (const Work& x : work) {
    if (one_thread || x.flops * threads > left)
      run_on_host(blas, x.call, tier, most);
    else
      shared.push_back(&x);
  }
  std::ranges::stable_sort(shared, std::ranges::greater(), &Work::flops);
  std::vector<const GemmCall*> calls(shared.size());
  std::ranges::transform(shared, calls.begin(), [](const Work* x) { return &x->call; });
  run_beside_each_other(blas, calls, tier);
}

}  // namespace rooftile
