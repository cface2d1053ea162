// Paired comparison of two kernels that are timed in the worker.
#pragma once

#include <cstddef>
#include <functional>

#include "tuner/measure/paired_comparison.h"
#include "tuner/measure/quiet_wait.h"
#include "tuner/worker/candidate_runner.h"

namespace rooftile {

struct TimedKernel {
  Variant variant;
  double kernel_ns = 0, pack_ns = 0;
  double total_ns() const { return kernel_ns + pack_ns; }
};

struct KernelComparison {
  PairedVerdict verdict = PairedVerdict::kUndecided;
  /// Medians over the pairs; without times where the verdict is kUndecided.
  TimedKernel stored, challenger;
  std::size_t pairs = 0, faster_pairs = 0;  ///< Those that count; faster: the challenger was.
};

/// Gives a record the total time of a comparison, at this level of the device's speed. It keeps the
/// shares of kernel and packing, which may have been timed with operands packed before.
void store_total(const TimedKernel& kernel, double level, WinnerRecord& record);

/// Total time of a record of a kernel, free of the level of the device's speed that it contains.
template <typename Record>
double level_free_ns(const Record& record, double level) {
  return (record.kernel_ns + record.pack_ns) / level;
}

struct PairOptions {
  int samples = 2;  ///< Samples of each kernel in each pair.
  SamplePurpose purpose = SamplePurpose::kSearch;
  std::function<bool()> over;  ///< Called before every measurement.
  QuietWait* wait = nullptr;   ///< While both kernels are slowed; null: no wait.
};

/// Total times of both kernels that this run has measured before, as CandidateRunner::time returns
/// them; 0: unknown.
struct UsualTimes {
  double stored_ns = 0, challenger_ns = 0;
};

/// Compares the total times of both kernels by compare_in_pairs().
KernelComparison compare_kernels(CandidateRunner& runner, const Problem& problem,
                                 const Variant& stored, const Variant& challenger,
                                 const PairOptions& options, const UsualTimes& usual = {});

}  // namespace rooftile
