// Times after which a request counts as hanging. They follow from the time limit of a call, the
// size of the operands, and how long earlier candidates took to compile and certify. Has no side
// effects.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "core/problem.h"
#include "db/store.h"

namespace rooftile {

class Watchdog {
 public:
  static constexpr double kReferenceS = 30;  ///< Limit for a reading of the reference kernel.

  explicit Watchdog(double rotate_bytes) : rotate_bytes_(rotate_bytes) {}

  /// Limit for timing a candidate in this worker; limit_s is that of one call.
  double timing_s(const Problem& problem, int samples, double limit_s, pid_t worker) const;
  double certification_s() const;
  double compilation_s() const;  ///< Limit for compiling a kernel, without running it.
  /// Time that filling the operands of a problem usually takes; 0 where this worker holds them.
  double usual_preparation_s(const Problem& problem, pid_t worker) const;
  /// Limit for reading the counters of a kernel that takes kernel_ns.
  double counting_s(const Problem& problem, double kernel_ns) const;

  /// Records an answer: the candidate's compilation, and that this worker holds the operands now.
  void timed(RowId candidate, double compile_s, const Problem& problem, pid_t worker);
  void certified(double wall_s) { certification_s_.push_back(wall_s); }

 private:
  double preparation_s(const Problem& problem) const;

  double rotate_bytes_;
  std::map<RowId, double> compile_s_;
  std::vector<double> certification_s_;
  Problem prepared_;           ///< Problem whose operands the worker holds.
  pid_t prepared_worker_ = 0;  ///< The worker that holds them.
};

}  // namespace rooftile
