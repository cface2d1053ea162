// Several calls of a kernel as the steps of one submission.
#pragma once

#include <utility>
#include <vector>

#include "runtime/kernel/kernel.h"

namespace rooftile {

struct SharedSubmission {
  /// Indices of a call's steps: the packing's, those of the kernel itself, and behind the last one.
  struct Call {
    std::size_t begin, gemm, end;
  };
  std::vector<Step> steps;
  std::vector<Call> calls;
};

/// The steps `before`, then those of each call, each of which waits for all that stands before it:
/// calls use the same memory, and where they overlapped their times would not be those of a call.
inline SharedSubmission one_submission(std::vector<Step> before, std::vector<KernelSteps> calls) {
  SharedSubmission all{.steps = std::move(before), .calls = {}};
  for (KernelSteps& call : calls) {
    if (!all.steps.empty()) all.steps.emplace_back(BarrierStep{});
    const std::size_t begin = all.steps.size();
    for (Step& step : call.steps) all.steps.push_back(std::move(step));
    all.calls.push_back({begin, begin + call.first_gemm, all.steps.size()});
  }
  return all;
}

}  // namespace rooftile
