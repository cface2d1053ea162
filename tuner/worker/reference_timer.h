// Times the kernel by which a run notices that the device, or the whole machine, has become slower.
#pragma once

#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {

/// A kernel that is timed repeatedly during a run, to detect changes of the device's speed.
struct ReferenceKernel {
  Variant variant;
  Problem problem;
};

class ReferenceTimer {
 public:
  ReferenceTimer(Store& store, RowId run, CandidateRequests& requests)
      : store_(store), run_(run), requests_(requests) {}

  /// Times and stores the reference. Returns its median in ns; no value: there is no answer.
  std::optional<double> time_ns(RowId candidate, const ReferenceKernel& reference,
                                double compute_units);
  /// Wall time of the last answer over the shortest of those before, all from workers that had
  /// compiled the reference already; 1 where there are none. Most of those before may come from a
  /// machine that was slow then, too. Unlike the kernel's time it also shows that the worker was
  /// not running.
  double slowdown() const;

 private:
  Store& store_;
  RowId run_;
  CandidateRequests& requests_;
  std::vector<double> wall_s_;
  pid_t worker_ = 0;  ///< The worker that has compiled the reference.
};

}  // namespace rooftile
