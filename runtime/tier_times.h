// Which tier is the fastest one for a product that is made again and again: as predicted at first,
// as measured afterwards. How long all threads take depends on what no calibration knows: where a
// hypervisor has put the processors, who else uses them, what the program's other threads ask of
// the same BLAS; and kernels for sizes that were not tuned are predicted, too.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// Of one product, for one thread. The tier in use is the one with the shortest time: predicted,
/// until two calls have told, then measured. Now and then, for a small share of the time, another
/// one is on trial: what was true of it may be so no more.
class TierTimes {
 public:
  static constexpr double kNotInTheRace = std::numeric_limits<double>::infinity();
  struct Predicted {
    double host_ns = kNotInTheRace, host1_ns = kNotInTheRace, device_ns = kNotInTheRace;
  };

  /// Nothing to choose: the product stays where it is.
  TierTimes() = default;
  /// Of a product whose calls begin on this tier, which is in the race. Nothing to choose if there
  /// is no other, or if looking at the clock would be felt.
  TierTimes(const Predicted& predicted, Tier begins_on);

  bool open() const { return open_; }
  /// Whether calls may go there.
  bool device_races() const { return races(kDevice); }
  /// Of the next call.
  Tier next() const { return kTiers[next_]; }
  /// The next call was made where next() says, and took this long. Calls that something else has
  /// answered, because a kernel is still being compiled, are not told. True where calls go to
  /// another tier than before from now on, and not for a trial.
  bool took(double ns);
  /// That calls go to, trials aside.
  Tier in_use() const { return kTiers[on_trial_ ? before_ : next_]; }
  /// What the tier takes, in ns: nothing where it is not in the race.
  struct Time {
    double ns;
    bool measured;  // else predicted
  };
  std::optional<Time> time_of(Tier tier) const;
  /// The device has failed.
  void leave_device_out();

 private:
  enum Side : std::uint8_t { kAll, kOne, kDevice, kSides };
  static constexpr std::array<Tier, kSides> kTiers = {Tier::kHost, Tier::kHost1, Tier::kDevice};

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

  static Side side_of(Tier tier);
  bool races(Side side) const {
    return predicted_ns_[side] < std::numeric_limits<float>::infinity();
  }
  /// Measured or predicted.
  float ns(Side side) const;
  /// The time that it has to be compared with the other tiers' by.
  float handicapped_ns(Side side) const;
  Side best() const;
  void try_another_if_due();
  void note(float took_ns);
  /// After its call number `call`, from 0, whether the trial has told.
  bool has_told(int call, float ns);

  bool open_ = false, on_trial_ = false;
  Side next_ = kAll;
  Side last_ = kSides;            // of the last call; the first one is not counted
  Side before_ = kAll;            // the trial
  Side last_tried_ = kDevice;     // in a race of three they take turns
  std::uint8_t trial_calls_ = 0;  // that were made
  float share_ = 0;               // of the time, for trials
  float spent_ns_ = 0;            // since the last trial
  std::array<float, kSides> predicted_ns_ = {};
  std::array<Times, kSides> times_ = {};
};

}  // namespace rooftile
