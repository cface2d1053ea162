// What the planner and the executor of a context share: its settings, what was tuned, the device
// and the host, and whatever makes earlier plans void.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/dispatch/decision_log.h"
#include "runtime/dispatch/resident_source.h"
#include "runtime/dispatch/settings.h"
#include "runtime/dispatch/split_course.h"
#include "runtime/dispatch/untuned_log.h"
#include "runtime/execute/device_tier.h"
#include "runtime/host/host_blas.h"
#include "runtime/support/background.h"
#include "runtime/support/set_once.h"
#include "runtime/tuned/expected_device.h"
#include "runtime/tuned/tuned_data.h"

namespace rooftile {

/// A number that no context, and no earlier state of a context, has had.
std::uint64_t next_generation();

/// A tuned device besides the context's own one, for calls that are split.
struct OtherDevice {
  DispatchModel model;
  std::unique_ptr<DeviceTier> tier;
};

/// Thread-safe once the context is constructed, as far as its functions go.
struct ContextState {
  explicit ContextState(const ContextOptions& options);
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  const Settings settings;
  const std::uint64_t id = next_generation();
  /// Changes when earlier plans may have become wrong: caches of plans compare it.
  std::atomic<std::uint64_t> generation = next_generation();
  const std::unique_ptr<DecisionLog> log;  ///< Null: decisions are not logged.
  ResidentSource resident;
  TunedData data;
  const HostBlas* blas = nullptr;  ///< Not null once the context is constructed.
  /// Null: nothing is tuned, and no call was forced to the device yet (use_untuned_device()).
  SetOnce<DeviceTier> device;
  /// Null: something is tuned, or no device was found yet (look_for_expected()).
  SetOnce<ExpectedDevice> expected;
  std::shared_ptr<UntunedLog> untuned;  ///< Null: counting is off, or there is no file to write to.
  std::atomic<bool> counts = true;      ///< False after Context::stop_counting().
  SplitCourses split_courses;
  /// Number of spot checks, and of those that sent the call to the host: P(rerun).
  std::atomic<std::uint64_t> checks = 0, reruns = 0;

  bool is_deterministic() const { return settings.deterministic == Deterministic::kYes; }
  void make_plans_void() { generation.store(next_generation()); }
  /// Counter of calls of the same tunable_problem(), or null when they are not counted.
  /// most_gain_ns is the largest gain over the host of a calibrated device whose kernel attains its
  /// roofline; infinity means that any tuning is welcome.
  std::atomic<std::int64_t>* untuned_counter(const Problem& of_call, double most_gain_ns) const;
  /// The model of the tuned device, else of the expected one, unless another one is open.
  const DispatchModel& model() const;
  /// Whether the model's host is a guess: calls then begin on all threads of the host, and leave
  /// them only for a device that is measured to be faster.
  bool guesses_host() const { return expected != nullptr && expected->guesses_host; }
  /// Looks for the expected device in the background, once.
  void look_for_expected();
  /// Whether the expected device could still be opened, and calls would gain by it.
  bool may_open_expected() const {
    return expected != nullptr && device == nullptr && !opens_expected_;
  }
  /// Notes that a call was answered so many ns later than the expected device is predicted to
  /// answer it. Once that is worth more than opening it, the device is opened in the background.
  void missed(double ns);
  /// For calls that are forced to the device where nothing is tuned: from now on calls use the
  /// wanted device with kernels that are certified on demand. Returns why not, or "".
  std::string use_untuned_device();
  /// The other tuned devices that are present; enumerates devices at first. None on failure, which
  /// is reported on stderr.
  std::span<const std::unique_ptr<OtherDevice>> other_devices();
  /// Excludes the failed capability of the device from every later plan, and reports it on stderr.
  void device_failed(DeviceTier& on, const Problem& p, const Error& error);
  /// This context does not choose the kernel again, and no process does before it is certified
  /// anew.
  void revoke(const DeviceTier& on, const DeviceTier::SpotCheckFailed& failure);

 private:
  /// On-demand kernels of the device. Null in a deterministic context, whose results must not
  /// depend on what has been certified meanwhile.
  std::shared_ptr<OnDemandKernels> kernels_on_demand(const DeviceProfile& profile);

  void open_expected() noexcept;
  /// Returns why not, or "".
  std::string use_expected_device();

  std::mutex untuned_device_, loading_others_;
  bool others_loaded_ = false;
  std::vector<std::unique_ptr<OtherDevice>> others_;  ///< Loaded when a split is planned first.
  std::atomic<std::int64_t> missed_ns_ = 0;
  std::atomic<bool> looks_for_expected_ = false;  ///< Or has done so, or may not.
  std::atomic<bool> opens_expected_ = false;      ///< It is being opened, or was, or could not be.
  std::unique_ptr<Background> opening_ = std::make_unique<Background>();
};

}  // namespace rooftile
