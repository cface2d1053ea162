// Which host tier is the faster one for a product that is made again and again: as predicted at
// first, as measured afterwards. How long all threads take depends on what no calibration knows:
// where a hypervisor has put the processors, who else uses them, what the program's other threads
// ask of the same BLAS.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// Of one product, for one thread. The tier in use is the one with the shorter time: predicted,
/// until two calls have told, then measured. Now and then, for a small share of the time, the other
/// one is on trial: what was true of it may be so no more.
class HostTimes {
 public:
  /// Nothing to choose: the product stays where it is.
  HostTimes() = default;
  /// Predicted, of a product that has just been computed where they say (faster_host). Nothing to
  /// choose if a tier is not predicted, or if looking at the clock would be felt.
  HostTimes(double host_ns, double host1_ns);

  bool open() const { return open_; }
  /// Of the next call.
  Tier next() const { return next_ == kAll ? Tier::kHost : Tier::kHost1; }
  /// The next call was made, and took this long.
  void took(double ns);

 private:
  enum Side : std::uint8_t { kAll, kOne };

  /// What disturbs a call makes it longer: the shorter of two, the median of three.
  class Times {
   public:
    bool known() const { return count_ >= 2; }
    float ns() const;  // if known
    void add(float ns) { last_[count_++ % last_.size()] = ns; }
    void forget() { count_ = 0; }

   private:
    std::array<float, 3> last_ = {};
    std::uint32_t count_ = 0;  // since forget()
  };

  static Side other_than(Side side) { return side == kAll ? kOne : kAll; }
  /// Measured or predicted.
  float ns(Side side) const;
  Side better() const;
  void try_other_if_due();
  /// After its call number `call`, from 0, whether the trial has told.
  bool has_told(int call, float ns);

  bool open_ = false;
  Side next_ = kAll, last_ = kAll;
  bool on_trial_ = false;
  std::uint8_t trial_calls_ = 0;  // that were made
  float share_ = 0;               // of the time, for trials
  float spent_ns_ = 0;            // since the last trial
  std::array<float, 2> predicted_ns_ = {};
  std::array<Times, 2> times_ = {};
};

}  // namespace rooftile
