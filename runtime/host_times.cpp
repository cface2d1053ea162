#include "runtime/host_times.h"

#include <algorithm>
#include <cmath>

namespace rooftile {
namespace {

// Two looks at the clock are a hundredth of this.
constexpr double kShortestNs = 5e3;
// Of the time, for trials: usually, at least, and after a change. Halved by each trial that changes
// nothing. A prediction that sends a product to one thread is checked sooner: all threads are what
// there would be without Rooftile.
constexpr float kShare = 0.02f, kLeastShare = 0.01f, kDoubtShare = 0.1f, kCheckShare = 0.3f;
// The first call after another tier's pays for that one's habits (sleeping threads, lines in the
// other processor's cache), and is not counted.
constexpr int kTrialCalls = 3;
// A trial of a tier that is slower by less costs as much as this, for those habits.
constexpr float kLeastLoss = 0.1f;
// One thread is left to itself where it takes less than this share of what all take: those are what
// there would be without Rooftile.
constexpr float kWorthwhile = 0.95f;
// What is slower by more needs no second look.
constexpr float kHopeless = 2;

}  // namespace

float HostTimes::Times::ns() const {
  const auto [a, b, c] = last_;
  if (count_ == 2) return std::min(a, b);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

HostTimes::HostTimes(double host_ns, double host1_ns)
    : open_(std::isfinite(host_ns) && std::isfinite(host1_ns) &&
            std::min(host_ns, host1_ns) >= kShortestNs),
      next_(faster_host(host_ns, host1_ns) == Tier::kHost ? kAll : kOne),
      last_(next_),
      share_(next_ == kAll ? kShare : kCheckShare),
      predicted_ns_({static_cast<float>(host_ns), static_cast<float>(host1_ns)}) {}

float HostTimes::ns(Side side) const {
  if (times_[side].known()) return times_[side].ns();
  // What slows one thread down slows all of them.
  const bool one_is_known = side == kAll && times_[kOne].known();
  const float slower = one_is_known ? times_[kOne].ns() / predicted_ns_[kOne] : 1.0f;
  return predicted_ns_[side] * std::max(1.0f, slower);
}

HostTimes::Side HostTimes::better() const {
  return ns(kOne) < kWorthwhile * ns(kAll) ? kOne : kAll;
}

void HostTimes::took(double call_ns) {
  const auto took_ns = static_cast<float>(call_ns);
  const bool settled = next_ == last_;
  last_ = next_;
  if (settled) times_[next_].add(took_ns);
  spent_ns_ += took_ns;
  if (on_trial_) {
    if (!has_told(trial_calls_++, took_ns)) return;
    on_trial_ = false;
    spent_ns_ = 0;
    const bool changed = better() == next_;
    share_ = changed ? kDoubtShare : std::clamp(share_ / 2, kLeastShare, kShare);
    next_ = better();
  } else if (better() != next_) {
    next_ = better();
    share_ = kDoubtShare;  // two calls in a row may both have been disturbed
  } else if (times_[next_].known()) {
    try_other_if_due();
  }
}

bool HostTimes::has_told(int call, float ns_of_call) {
  if (call == 0) return false;
  const float before = ns(other_than(next_));
  const bool clear = ns_of_call < before || ns_of_call > kHopeless * before;
  if (call == 1 && clear) times_[next_].add(ns_of_call);  // as if there were two
  return clear || call + 1 == kTrialCalls;
}

void HostTimes::try_other_if_due() {
  const Side other = other_than(next_);
  const float now = ns(next_), loss = kTrialCalls * std::max(ns(other) - now, kLeastLoss * now);
  if (spent_ns_ * share_ < loss) return;
  times_[other].forget();
  next_ = other;
  on_trial_ = true;
  trial_calls_ = 0;
}

}  // namespace rooftile
