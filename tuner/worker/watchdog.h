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

struct WatchdogLimits {
  struct Allowance {
    double first_s;  ///< Before any was seen; it is not extended because most are slow.
    double least_s;
  };
  Allowance compilation = {20, 5};  ///< By shader compiler and driver.
  /// A driver may compile a kernel some dozens of times for its certificate: a correct kernel was
  /// seen to take 8 s, after others that took half a second.
  Allowance certification = {60, 30};
  /// For reading counters, besides compilation, operands and runs: a second device, the profiling
  /// lock, and memory that is cleared before each of at most 16 passes.
  double counting_s = 20;
};

class Watchdog {
 public:
  static constexpr double kReferenceS = 30;  ///< Limit for a reading of the reference kernel.

  /// keeps_operands: as of TimedOperands, on a device with memory of its own.
  explicit Watchdog(double rotate_bytes, const WatchdogLimits& limits = {},
                    bool keeps_operands = false)
      : rotate_bytes_(rotate_bytes), limits_(limits), keeps_operands_(keeps_operands) {}

  /// Limit for timing a candidate in this worker; limit_s is that of one call.
  double timing_s(const Problem& problem, int samples, double limit_s, pid_t worker) const;
  double certification_s() const;
  double compilation_s() const;  ///< Limit for compiling a kernel, without running it.
  /// Time that filling the operands of a problem usually takes; 0 where this worker holds them, or
  /// has kept them unless others needed their room.
  double usual_preparation_s(const Problem& problem, pid_t worker) const;
  /// Limit for reading the counters of a kernel that takes kernel_ns.
  double counting_s(const Problem& problem, double kernel_ns) const;

  /// Records an answer: the candidate's compilation, and that this worker holds the operands now.
  void timed(RowId candidate, double compile_s, const Problem& problem, pid_t worker);
  void certified(double wall_s) { certification_s_.push_back(wall_s); }

 private:
  double preparation_s(const Problem& problem) const;

  double rotate_bytes_;
  WatchdogLimits limits_;
  bool keeps_operands_;
  std::map<RowId, double> compile_s_;
  std::vector<double> certification_s_;
  Problem prepared_;           ///< Problem whose operands the worker holds.
  std::vector<Problem> kept_;  ///< Those whose operands it has had.
  pid_t prepared_worker_ = 0;  ///< The worker that holds them.
};

}  // namespace rooftile
