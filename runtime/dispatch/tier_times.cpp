#include "runtime/dispatch/tier_times.h"

#include <algorithm>
#include <cmath>

namespace rooftile {
namespace {

// Shortest call that is measured: reading the clock twice costs a hundredth of this.
constexpr double kShortestNs = 5e3;
// Shares of time for probes: kShare at first, kLeastShare at least, kDoubtShare after a change.
// Each probe that changes nothing halves the share. kCheckShare applies to a prediction that sends
// calls to one thread, which is checked sooner because all threads is what would run without
// Rooftile.
constexpr float kShare = 0.02f, kLeastShare = 0.01f, kDoubtShare = 0.1f, kCheckShare = 0.3f;
// Calls of a probe. The first call after a change of tier is slower for reasons of the previous
// tier (sleeping threads, cache lines in the other processor's cache, a driver that compiles at the
// first dispatch) and is not counted.
constexpr int kProbeCalls = 3;
// A probe costs at least this share of a call for those reasons, even of a tier that is hardly
// slower.
constexpr float kLeastLoss = 0.1f;
// Another tier is used only where it takes less than this share of the time of all threads, which
// is what would run without Rooftile.
constexpr float kWorthwhile = 0.95f;
// A measured tier that is slower by more than this factor needs no second call; one that is
// predicted to be needs no probe. The exception is all threads while calls use one thread: a
// calibration beside a busy program measures all threads many times too slow.
constexpr float kHopeless = 2;

}  // namespace

float TierTimes::Times::ns() const {
  const auto [a, b, c] = last_;
  if (count_ == 2) return std::min(a, b);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

TierTimes::Side TierTimes::side_of(Tier tier) {
  return static_cast<Side>(std::ranges::find(kTiers, tier) - kTiers.begin());
}

TierTimes::TierTimes(const Predicted& predicted, Tier begins_on)
    : next_(side_of(begins_on)),
      share_(next_ == kOne ? kCheckShare : kShare),
      predicted_ns_({static_cast<float>(predicted.host_ns), static_cast<float>(predicted.host1_ns),
                     static_cast<float>(predicted.device_ns),
                     static_cast<float>(predicted.split_ns)}) {
  open_ = std::ranges::count_if(predicted_ns_, [](float ns) { return std::isfinite(ns); }) > 1 &&
          std::ranges::min(predicted_ns_) >= static_cast<float>(kShortestNs);
}

void TierTimes::leave_out(Tier tier) {
  const Side side = side_of(tier);
  predicted_ns_[side] = std::numeric_limits<float>::infinity();
  times_[side].forget();
  probing_ = false;
  next_ = best();
  open_ =
      open_ && std::ranges::count_if(predicted_ns_, [](float ns) { return std::isfinite(ns); }) > 1;
}

float TierTimes::ns(Side side) const {
  if (times_[side].known()) return times_[side].ns();
  // A disturbance that slows one thread down slows all threads down.
  const bool one_is_known = side == kAll && times_[kOne].known();
  const float slower = one_is_known ? times_[kOne].ns() / predicted_ns_[kOne] : 1.0f;
  return predicted_ns_[side] * std::max(1.0f, slower);
}

float TierTimes::handicapped_ns(Side side) const {
  // A device chosen for a smaller predicted gain has to prove it by measurement.
  const bool on_device = side == kDevice || side == kSplit;
  const bool pays = side == kOne || (on_device && times_[kAll].known());
  return pays ? ns(side) / kWorthwhile : ns(side);
}

TierTimes::Side TierTimes::best() const {
  Side best = kAll;
  for (const Side side : {kOne, kDevice, kSplit})
    if (handicapped_ns(side) < handicapped_ns(best)) best = side;
  return best;
}

bool TierTimes::record_time(double ns) {
  const Tier before = in_use();
  note(static_cast<float>(ns));
  return in_use() != before;
}

std::optional<TierTimes::Time> TierTimes::time_of(Tier tier) const {
  const Side side = side_of(tier);
  if (!races(side)) return std::nullopt;
  return Time{.ns = static_cast<double>(ns(side)), .measured = times_[side].known()};
}

void TierTimes::note(float took_ns) {
  const bool settled = next_ == last_;
  last_ = next_;
  if (settled) times_[next_].add(took_ns);
  spent_ns_ += took_ns;
  if (probing_) {
    if (!has_told(probe_calls_++, took_ns)) return;
    probing_ = false;
    spent_ns_ = 0;
    const bool changed = best() == next_;
    share_ = changed ? kDoubtShare : std::clamp(share_ / 2, kLeastShare, kShare);
    next_ = best();
  } else if (best() != next_) {
    next_ = best();
    share_ = kDoubtShare;  // Two calls in a row may both have been disturbed.
  } else if (times_[next_].known()) {
    try_another_if_due();
  }
}

bool TierTimes::has_told(int call, float ns_of_call) {
  if (call == 0) return false;
  const float before = ns(before_);
  const bool clear = ns_of_call < before || ns_of_call > kHopeless * before;
  // Counts twice, as if two calls had been measured.
  if (call == 1 && clear) times_[next_].add(ns_of_call);
  return clear || call + 1 == kProbeCalls;
}

void TierTimes::try_another_if_due() {
  const float now = ns(next_);
  const auto worth_probing = [&](Side side) {
    if (side == next_ || !races(side)) return false;
    return predicted_ns_[side] <= kHopeless * now || (side == kAll && next_ == kOne);
  };
  Side other = kSides;
  for (int step = kSides; step > 0; --step)  // The last one that is worth it is the next in turn.
    if (const auto side = static_cast<Side>((last_tried_ + step) % kSides); worth_probing(side))
      other = side;
  if (other == kSides) return;
  const float loss = kProbeCalls * std::max(ns(other) - now, kLeastLoss * now);
  if (spent_ns_ * share_ < loss) return;
  times_[other].forget();
  before_ = next_;
  next_ = last_tried_ = other;
  probing_ = true;
  probe_calls_ = 0;
}

}  // namespace rooftile
