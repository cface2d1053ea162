// Log of decisions (ROOFTILE_LOG=decisions): the tier of each new problem with its reasons, and
// later changes of tier.
#pragma once

#include <mutex>
#include <string>
#include <unordered_set>

#include "core/problem.h"
#include "runtime/dispatch/tier_times.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

/// Prints each line once, although threads decide independently and may forget a decision.
/// Thread-safe.
class DecisionLog {
 public:
  /// `kernel` would run on the device; `quick` runs there while `kernel` is being compiled. Each is
  /// "" when there is none.
  void say(const Problem& p, const Decision& decision, const std::string& kernel,
           const std::string& quick);
  /// Logs how calls of a problem are split from now on, or why they are not.
  void say_split(const Problem& p, const std::string& how);
  /// Logs that calls of a problem move to another tier because of their measured times.
  void say_changed(const Problem& p, const TierTimes& times);

 private:
  void say_once(const std::string& line);

  static constexpr std::size_t kMostLines = 10'000;  ///< Limit of lines in the log.
  std::mutex mutex_;
  std::unordered_set<std::string> said_;
};

}  // namespace rooftile
