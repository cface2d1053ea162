// ROOFTILE_LOG=decisions: where new problems go, and why; and where they go later.
#pragma once

#include <mutex>
#include <string>
#include <unordered_set>

#include "core/problem.h"
#include "runtime/model/dispatch.h"
#include "runtime/tier_times.h"

namespace rooftile {

/// Thread-safe. Each line once: threads decide for themselves, and forget.
class DecisionLog {
 public:
  /// kernel: that would run on the device; quick: that runs there while it is compiled. "" when
  /// there is none.
  void say(const Problem& p, const Decision& decision, const std::string& kernel,
           const std::string& quick);
  /// Calls of a product go to another tier from now on, for they were measured.
  void say_changed(const Problem& p, const TierTimes& times);

 private:
  void say_once(const std::string& line);

  static constexpr std::size_t kMostLines = 10'000;  // then nobody reads them
  std::mutex mutex_;
  std::unordered_set<std::string> said_;
};

}  // namespace rooftile
