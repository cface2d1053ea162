// Log of decisions (ROOFTILE_LOG=decisions): the tier of each new problem with its reasons, and
// later changes of tier.
#pragma once

#include <string>
#include <string_view>

#include "core/problem.h"
#include "runtime/dispatch/plan.h"
#include "runtime/dispatch/tier_times.h"
#include "runtime/model/dispatch.h"
#include "runtime/support/log.h"

namespace rooftile {

/// Prints each line once. Thread-safe.
class DecisionLog {
 public:
  /// `kernel` would run on the device; `quick` runs there while `kernel` is being compiled. Each is
  /// "" when there is none. `about`: what is special about the calls, such as "guarded".
  void say(const Problem& p, const Decision& decision, const std::string& kernel,
           const std::string& quick, std::string_view about = {});
  /// Logs who answered a call where that was no prediction: it was forced, the precision asked for
  /// it, or the device failed. Says nothing otherwise.
  void say_answer(const Problem& p, const Outcome& outcome, std::string_view about = {});
  /// Logs something else about calls of a problem.
  void say_note(const Problem& p, std::string_view note);
  /// Logs how calls of a problem are split from now on, or why they are not.
  void say_split(const Problem& p, const std::string& how);
  /// Logs, once in a process, that the context is that of an MPI rank (docs/blas.md).
  static void say_ranks(int ranks, bool measures);
  /// Logs that calls of a problem move to another tier because of their measured times, once for
  /// each tier.
  void say_changed(const Problem& p, const TierTimes& times);

 private:
  OnceLog lines_;
};

}  // namespace rooftile
