// Wall-clock budget of a tuning run.
#pragma once

namespace rooftile {

class Budget {
 public:
  explicit Budget(double seconds);
  double elapsed_s() const;
  double left_s() const { return seconds_ - elapsed_s(); }
  double seconds() const { return seconds_; }
  /// Excludes elapsed seconds from the budget.
  void leave_out(double seconds) { start_s_ += seconds; }
  /// Returns the deadline of a request that counts as hanging after watchdog_s. It is shorter than
  /// that at the end of the budget, past which a running candidate has a few seconds to finish.
  double deadline_s(double watchdog_s) const;

 private:
  double seconds_, start_s_;
};

}  // namespace rooftile
