// Online tier selection: the fastest tier of a repeated call, as predicted at first and as measured
// afterwards. How long all threads take depends on conditions that no calibration knows: on which
// physical processors a hypervisor runs the virtual ones, who else uses them, and what the
// program's other threads ask of the same BLAS. The times of kernels for untuned sizes are
// predictions, too.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// Times of one problem's tiers, for one thread. The tier in use is the one with the shortest time:
/// its predicted time until two calls have been measured, then its measured time. From time to
/// time, for a small share of the total time, another tier is probed, because its earlier
/// measurements may no longer hold.
class TierTimes {
 public:
  static constexpr double kNotInTheRace = std::numeric_limits<double>::infinity();
  struct Predicted {
    double host_ns = kNotInTheRace, host1_ns = kNotInTheRace, device_ns = kNotInTheRace,
           split_ns = kNotInTheRace;
  };

  /// No selection: calls stay on their tier.
  TierTimes() = default;
  /// For calls that begin on this tier, which must have a finite time. There is no selection if no
  /// other tier has one, or if reading the clock would cost too much.
  TierTimes(const Predicted& predicted, Tier begins_on);

  bool open() const { return open_; }
  /// Whether calls may go to a device.
  bool device_races() const { return races(kDevice) || races(kSplit); }
  /// Tier of the next call.
  Tier next() const { return kTiers[next_]; }
  /// Records that the next call ran on the tier next() and took `ns`. Calls that another tier
  /// answered, because a kernel was still being compiled, must not be recorded. Returns true when
  /// calls move to another tier from now on, unless as a probe.
  bool record_time(double ns);
  /// Tier of calls that are not probes.
  Tier in_use() const { return kTiers[probing_ ? before_ : next_]; }
  /// Time of a tier in ns; no value where calls may not go to it.
  struct Time {
    double ns;
    bool measured;  ///< False: the time is predicted.
  };
  std::optional<Time> time_of(Tier tier) const;
  /// Excludes the device, or the split over several, because it has failed.
  void leave_out(Tier tier);

 private:
  enum Side : std::uint8_t { kAll, kOne, kDevice, kSplit, kSides };
  static constexpr std::array<Tier, kSides> kTiers = {Tier::kHost, Tier::kHost1, Tier::kDevice,
                                                      Tier::kSplit};

  /// Recent times of a tier. A disturbance makes a call longer, so the estimate is the shorter of
  /// two times or the median of three.
  class Times {
   public:
    bool known() const { return count_ >= 2; }
    float ns() const;  ///< Requires known().
    void add(float ns) { last_[count_++ % last_.size()] = ns; }
    void forget() { count_ = 0; }

   private:
    std::array<float, 3> last_ = {};
    std::uint32_t count_ = 0;  ///< Number of times since forget().
  };

  static Side side_of(Tier tier);
  bool races(Side side) const {
    return predicted_ns_[side] < std::numeric_limits<float>::infinity();
  }
  /// Measured time, or else the predicted one.
  float ns(Side side) const;
  /// Time for the comparison with the other tiers.
  float handicapped_ns(Side side) const;
  Side best() const;
  void try_another_if_due();
  void note(float took_ns);
  /// Returns whether the probe has a result after call number `call`, counted from 0.
  bool has_told(int call, float ns);

  bool open_ = false, probing_ = false;
  Side next_ = kAll;
  Side last_ = kSides;        ///< Tier of the last call; the first call on a tier is not counted.
  Side before_ = kAll;        ///< Tier in use before the probe.
  Side last_tried_ = kSplit;  ///< Probes take turns among the other tiers.
  std::uint8_t probe_calls_ = 0;  ///< Calls made in this probe.
  float share_ = 0;               ///< Share of time that probes may take.
  float spent_ns_ = 0;            ///< Time since the last probe.
  std::array<float, kSides> predicted_ns_ = {};
  std::array<Times, kSides> times_ = {};
};

}  // namespace rooftile
