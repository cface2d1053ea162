// Where wall time went: each moment belongs to one activity, so that all seconds add up to the
// whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace rooftile {

enum class Activity : std::uint8_t {
  kChoosing,           ///< What nothing else is: strategy, model, schedule, database.
  kKernels,            ///< By the device's clock, all runs of candidates that were timed.
  kMeasuring,          ///< Around them: recording, submitting, requests and answers.
  kCompiling,          ///< In the worker that measures.
  kAwaitingCompilers,  ///< Waiting for those that compile ahead.
  kClocks,             ///< Raising the device's clocks.
  kOperands,           ///< Filling and copying operands.
  kChecks,             ///< Spot checks and canaries.
  kCertificates,
  kReference,  ///< Reading the reference kernel, by which drift is seen.
  kHost,       ///< Comparisons with the host's BLAS.
  kStarting,   ///< New workers.
  kFailures,   ///< Candidates that failed.
  kQuietWaits  ///< While other programs, or the device's speed, disturb.
};
inline constexpr std::size_t kActivities = 14;

using ActivitySeconds = std::array<double, kActivities>;  ///< By Activity.

/// {"compiling": 4.2, ...}, without those that took nothing.
std::string activities_json(const ActivitySeconds& seconds);
/// Ignores what is no activity, and what is no time.
ActivitySeconds parse_activities(std::string_view json);
/// "4.2 compiling, 1.0 in kernels, ...": the longest first, without those below 0.05 s.
std::string activities_text(const ActivitySeconds& seconds);

/// Not thread-safe.
class TimeAccount {
 public:
  /// The clock returns seconds.
  explicit TimeAccount(
      Activity first = Activity::kChoosing, std::function<double()> clock = [] { return now_s(); });

  /// The time until its end is that of another activity. Scopes nest.
  class Scope {
   public:
    Scope(TimeAccount& account, Activity activity)
        : account_(account), before_(account.enter(activity)) {}
    ~Scope() { account_.enter(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TimeAccount& account_;
    Activity before_;
  };
  [[nodiscard]] Scope during(Activity activity) { return {*this, activity}; }

  /// Gives seconds of the activity that is under way to another one.
  void shift(Activity to, double seconds);
  /// The same for all that a worker did during a request.
  void shift(const ActivitySeconds& seconds);
  /// Takes seconds of the activity that is under way out of the account.
  void leave_out(double seconds) { at(current_) -= seconds; }

  ActivitySeconds seconds();  ///< Until now.

 private:
  double& at(Activity activity) { return seconds_[static_cast<std::size_t>(activity)]; }
  Activity enter(Activity activity);

  std::function<double()> clock_;
  Activity current_;
  double since_s_;
  ActivitySeconds seconds_ = {};
};

}  // namespace rooftile
