#include "runtime/dispatch/context_state.h"

#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text_table.h"
#include "db/store.h"
#include "generator/unit_operands.h"
#include "runtime/call/pass_over_c.h"
#include "runtime/device/physical/fork.h"
#include "runtime/dispatch/environment.h"
#include "runtime/support/background.h"
#include "runtime/support/float_environment.h"
#include "runtime/support/log.h"
#include "runtime/tuned/shipped_devices.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {
namespace {

// Smallest problem in flops that is logged for a device that is not calibrated, where the gain
// cannot be predicted. It takes tens of microseconds on any processor, which is about the cost of a
// submission.
constexpr double kLeastLoggedFlops = 1e6;

// Opening a device that is expected to be faster, and certifying its first kernels, takes about as
// long. Calls that would have gained less are too few to pay for it.
constexpr double kOpeningNs = 1e9;

/// Reports a database or a device that was named but does not exist, and a database that is locked.
/// Calls succeed without them, so a misspelt name would otherwise show only in the time of calls.
void warn_of_missing(const TunedData& data, const Settings& settings) {
  const bool names_device = !settings.device.empty();
  const bool is_default =
      data.missing == TunedData::Missing::kDatabase && !settings.names_database && !names_device;
  const bool none_is_tuned = data.missing == TunedData::Missing::kDevice && !names_device;
  if (data.note.empty() || is_default || none_is_tuned) return;
  log_warning_once(data.note,
                   data.note + "; calls compute on the host unless they force the device");
}

/// Loads the machine's BLAS on another thread, because that takes about as long as reading the
/// database.
std::jthread load_blas_meanwhile() try {
  return thread_without_signals([](const std::stop_token&) {
    try {
      HostBlas::get();
    } catch (const std::exception&) {  // A later HostBlas::get() reports the error.
    }
  });
} catch (const std::system_error&) {  // No thread can be created.
  return {};
}

}  // namespace

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> generation = 1;
  return generation++;
}

ContextState::ContextState(const ContextOptions& options)
    : settings(settings_of(options)),
      log(log_level() == LogLevel::kDecisions ? std::make_unique<DecisionLog>() : nullptr),
      resident(options.adopted, settings.device, settings.database, settings.cache_folder,
               settings.precision, settings.deterministic) {
  const std::jthread loading = load_blas_meanwhile();
  if (settings.agrees_with_ranks && log != nullptr)
    DecisionLog::say_ranks(mpi_ranks(), settings.measure_calls == MeasureCalls::kYes);
  data = load_tuned_data(settings.database, settings.device, settings.deterministic,
                         options.adopted != nullptr ? &options.adopted->profile() : nullptr);
  if (options.needs_device && !data.ranking) fail(ErrorCode::kUnsupported, "{}", data.note);
  looks_for_expected_ = data.missing == TunedData::Missing::kNothing || is_deterministic() ||
                        options.adopted != nullptr || settings.measure_calls == MeasureCalls::kNo;
  warn_of_missing(data, settings);
  if (settings.log_untuned == LogUntuned::kYes && data.counted_device)
    untuned = std::make_shared<UntunedLog>(data.file, *data.counted_device);
  if (data.ranking)
    device.set(std::make_unique<DeviceTier>(
        *data.profile, data.calibration.device, *std::move(data.ranking), settings.cache_folder,
        kernels_on_demand(*data.profile), data.calibration.host.gbps));
  blas = &HostBlas::get();
}

ContextState::~ContextState() {
  opening_ = nullptr;
  // Device-resident data may outlive the context, and so may the kernels for them.
  if (device != nullptr && device->chooser()->on_demand() != nullptr)
    device->chooser()->on_demand()->when_changed({});
}

std::shared_ptr<OnDemandKernels> ContextState::kernels_on_demand(const DeviceProfile& profile) {
  if (is_deterministic()) return nullptr;
  const std::filesystem::path& folder = settings.cache_folder;
  auto kernels = std::make_shared<OnDemandKernels>(
      profile, data.file.empty() ? settings.database : data.file, folder,
      [profile, folder] { return open_tuned_device(profile, folder); });
  // What was decided before a kernel was certified, or failed, is decided again.
  kernels->when_changed([this] { make_plans_void(); });
  return kernels;
}

const DispatchModel& ContextState::model() const {
  const ExpectedDevice* const other = expected.get();
  const DeviceTier* const opened = device.get();
  const bool predicts = other != nullptr && (opened == nullptr || other->is(opened->profile()));
  return predicts ? other->model : data.model;
}

void ContextState::look_for_expected() {
  if (looks_for_expected_.exchange(true)) return;
  opening_->post([this] {
    try {
      std::optional<ExpectedDevice> found =
          expected_device(data, settings.device, shipped_folder(), pci_gpus());
      if (!found) return;
      expected.set(std::make_unique<ExpectedDevice>(*std::move(found)));
      make_plans_void();
      if (log != nullptr)
        log_line(
            fmt::format("other machines have measured {}: repeated calls move to it where it "
                        "is faster",
                        cleaned_text(expected->device.name)));
    } catch (const std::exception&) {  // No memory, or a damaged database: there is none.
    }
  });
}

void ContextState::missed(double ns) {
  if (!may_open_expected()) return;
  const auto whole = static_cast<std::int64_t>(ns);
  if (static_cast<double>(missed_ns_.fetch_add(whole) + whole) < kOpeningNs) return;
  if (!opens_expected_.exchange(true)) opening_->post([this] { open_expected(); });
}

void ContextState::open_expected() noexcept try {
  load_drivers();
  if (!Background::wait_at_exit()) return;
  const std::string why_not = use_expected_device();
  if (why_not.empty()) return;
  make_plans_void();
  if (log != nullptr)
    log_line(fmt::format("{}, which other machines have measured, is not used: {}",
                         cleaned_text(expected->device.name), why_not));
} catch (const std::exception&) {  // No memory: calls stay on the host.
}

std::string ContextState::use_expected_device() try {
  const DeviceProfile first = resident.wanted_profile();
  if (expected->is(first)) return use_untuned_device();
  return fmt::format("{} (driver {}) comes first", cleaned_text(first.name),
                     cleaned_text(first.driver_info));
} catch (const Error& error) {
  return error.what();
}

std::string ContextState::use_untuned_device() try {
  if (device != nullptr) return "";
  check_not_forked();  // The parent's other threads may have held the lock.
  const std::lock_guard lock(untuned_device_);
  if (device != nullptr) return "";
  if (data.missing == TunedData::Missing::kNothing) return data.note;
  if (is_deterministic()) return data.note + ", and a deterministic context certifies no kernels";
  const QuietFloats quiet;
  const DeviceProfile profile = resident.wanted_profile();
  const bool is_expected = expected.get() != nullptr && expected->is(profile);
  device.set(
      std::make_unique<DeviceTier>(profile, is_expected ? expected->model.device() : DeviceRates(),
                                   KernelRanking(profile.limits, {}, {}), settings.cache_folder,
                                   kernels_on_demand(profile), data.calibration.host.gbps));
  make_plans_void();
  return "";
} catch (const Error& error) {
  return error.what();
}

std::span<const std::unique_ptr<OtherDevice>> ContextState::other_devices() try {
  const std::lock_guard lock(loading_others_);
  if (!others_loaded_) {
    others_.clear();  // An earlier attempt may have run out of memory halfway.
    const Enumeration present = enumerate_devices();
    for (TunedData& found :
         load_other_devices(data.file, settings.device, device->profile(), present.devices)) {
      auto other = std::make_unique<OtherDevice>();
      other->model = std::move(found.model);
      other->tier = std::make_unique<DeviceTier>(
          *std::move(found.profile), found.calibration.device, *std::move(found.ranking),
          settings.cache_folder, nullptr, found.calibration.host.gbps);
      others_.push_back(std::move(other));
    }
    others_loaded_ = true;
  }
  return others_;
} catch (const Error& error) {
  const std::lock_guard lock(loading_others_);
  others_loaded_ = true;
  log_warning_once("other devices", fmt::format("{}; calls are split over {} and the host only",
                                                error.what(), device->profile().name));
  return {};
}

std::atomic<std::int64_t>* ContextState::untuned_counter(const Problem& of_call,
                                                         double most_gain_ns) const {
  if (untuned == nullptr || !counts || !reads_operands(of_call)) return nullptr;
  if (widens_sums(of_call.types) && is_grouped(of_call)) return nullptr;  // Those are the host's.
  Problem p = tunable_problem(of_call);
  if (data.profile) p.types = types_on(data.profile->limits, p.types);
  if (is_float64(p.types) && data.profile && !data.profile->limits.float64_arithmetic)
    return nullptr;
  const bool worthwhile =
      is_calibrated(model().device()) ? most_gain_ns > 0 : flops(p) >= kLeastLoggedFlops;
  if (!worthwhile || data.buckets.contains(bucket_of(p)) || (device != nullptr && !device->fits(p)))
    return nullptr;
  return untuned->counter(p);
}

void ContextState::device_failed(DeviceTier& on, const Problem& p, const Error& error) {
  on.warn(error);
  if (on.veto(p).name != Veto::kNone) make_plans_void();
}

void ContextState::revoke(const DeviceTier& on, const DeviceTier::SpotCheckFailed& failure) {
  make_plans_void();
  resident.reject(failure.hash(), failure.what());
  try {
    std::error_code unknown;
    // Opening the store for writing would create a new file.
    if (!std::filesystem::exists(data.file, unknown)) return;
    Store store(data.file, {.busy_timeout_ms = kDatabasePatienceMs});
    if (const auto row = store.find_device(on.profile()))
      store.revoke_certificates(*row, failure.hash(), failure.what());
  } catch (const Error& error) {
    log_warning(
        fmt::format("a kernel that computes wrongly stays in the database: {}; run "
                    "`rooftile tune` where it can be written",
                    error.what()));
  }
}

}  // namespace rooftile
