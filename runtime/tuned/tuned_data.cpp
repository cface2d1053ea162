#include "runtime/tuned/tuned_data.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "db/sqlite/database_locked.h"
#include "db/store.h"
#include "db/untuned_advice.h"
#include "generator/version.h"
#include "runtime/device/physical/device_order.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {
namespace {

bool adds_atomically(const CandidateRecord& candidate) {
  return candidate.variant.reduction == Reduction::kAtomic;
}

/// Reads the records of a device, without the kernels that a deterministic context must not use.
class Reader {
 public:
  Reader(const Store& store, Deterministic deterministic)
      : store_(store), deterministic_(deterministic == Deterministic::kYes) {}

  std::vector<TunedKernel> kernels(RowId device) const {
    std::vector<TunedKernel> kernels = store_.tuned_kernels(device, kGeneratorVersion);
    if (deterministic_)
      std::erase_if(kernels, [](const TunedKernel& k) { return adds_atomically(k.candidate); });
    return kernels;
  }
  std::vector<PortfolioKernel> portfolio(RowId device) const {
    std::vector<PortfolioKernel> kernels = store_.portfolio(device, kGeneratorVersion);
    if (deterministic_)
      std::erase_if(kernels, [](const PortfolioKernel& k) { return adds_atomically(k.candidate); });
    return kernels;
  }
  Calibration calibration(const DeviceRecord& device) const {
    Calibration calibration = calibration_from_figures(store_.latest_calibration(device.id));
    calibration.device.gpu = gpu_generation(device.profile);
    // A deterministic context uses one host thread only.
    if (deterministic_) calibration.host = calibration.host1;
    return calibration;
  }

 private:
  const Store& store_;
  bool deterministic_;
};

/// Why the database has no tuned device, and what to do about it.
std::string untuned_note(const Store& store, const std::string& wanted_device,
                         const DeviceProfile* only) {
  bool any = false;
  for (const DeviceRecord& device : store.devices()) {
    if (!is_wanted(device.profile, wanted_device)) continue;
    if (only != nullptr && !same_device(*only, device.profile)) continue;
    any = true;
    if (!store.imported_kernels(device.id).empty())
      return fmt::format("no tuned device in {}: {}", store.path().string(),
                         untuned_advice(store, device));
  }
  if (any || wanted_device.empty())
    return fmt::format("no tuned device in {}; run `rooftile tune`", store.path().string());
  return fmt::format("no tuned device in {} matches '{}'", store.path().string(), wanted_device);
}

/// Finds the device that calls use. Devices are offered newest first.
class BestDevice {
 public:
  explicit BestDevice(const Reader& reader) : reader_(reader) {}

  /// Considers a device. Only the newest entry of a product counts. Among products the better
  /// kind wins, then the higher measured rate of multiply-adds.
  void offer(const DeviceRecord& device) {
    if (std::ranges::any_of(tuned_, [&](const DeviceRecord* newer) {
          return same_product(newer->profile, device.profile);
        }))
      return;
    std::vector<TunedKernel> kernels = reader_.kernels(device.id);
    if (kernels.empty()) return;
    tuned_.push_back(&device);
    if (record_ != nullptr && !better(device, *record_)) return;
    record_ = &device;
    kernels_ = std::move(kernels);
  }

  const DeviceRecord* record() const { return record_; }  // Null: no device is tuned.
  std::vector<TunedKernel> take_kernels() { return std::move(kernels_); }

 private:
  bool better(const DeviceRecord& x, const DeviceRecord& y) const {
    const int x_rank = rank(x.profile.kind), y_rank = rank(y.profile.kind);
    return x_rank != y_rank ? x_rank < y_rank : gflops(x) > gflops(y);
  }
  double gflops(const DeviceRecord& device) const {
    return reader_.calibration(device).device.fma_gflops;
  }

  const Reader& reader_;
  std::vector<const DeviceRecord*> tuned_;
  const DeviceRecord* record_ = nullptr;
  std::vector<TunedKernel> kernels_;
};

/// The first of the best kind, one of this machine before others; null: there is none.
const DeviceRecord* untuned_device(const Store& store,
                                   const std::vector<const DeviceRecord*>& devices) {
  const auto place = [&](const DeviceRecord* device) {
    return std::pair(!store.measured_here(device->id), rank(device->profile.kind));
  };
  const auto first = std::ranges::min_element(devices, {}, place);
  return first == devices.end() ? nullptr : *first;
}

/// Fills in what the database knows of a tuned device. The calibration is there already.
void add_kernels(TunedData& data, const Reader& reader, const DeviceRecord& device,
                 std::vector<TunedKernel> kernels) {
  const std::vector<TunedTime> times = best_times(kernels);
  for (const TunedKernel& kernel : kernels) data.buckets.insert(bucket_of(kernel.problem));
  data.profile = device.profile;
  const std::vector<PortfolioKernel> portfolio = reader.portfolio(device.id);
  data.ranking.emplace(device.profile.limits, data.calibration.device, std::move(kernels),
                       portfolio);
  data.model = DispatchModel(data.calibration, device.profile.kind, times,
                             data.ranking->predicted_classes());
}

}  // namespace

std::vector<TunedTime> best_times(std::span<const TunedKernel> kernels) {
  std::vector<TunedTime> times;
  for (const TunedKernel& kernel : kernels) {
    if (is_grouped(kernel.problem) ||
        std::ranges::any_of(times, [&](const TunedTime& t) { return t.problem == kernel.problem; }))
      continue;
    times.push_back({.problem = kernel.problem,
                     .ns = kernel.kernel_ns + kernel.pack_ns,
                     .tile_m = kernel.candidate.variant.tile_m,
                     .tile_n = kernel.candidate.variant.tile_n});
  }
  return times;
}

TunedData load_tuned_data(const std::filesystem::path& database, const std::string& wanted_device,
                          Deterministic deterministic, const DeviceProfile* only) try {
  if (!database_exists(database))
    return {.note = fmt::format("no tuning database at {}; run `rooftile tune`", database.string()),
            .missing = TunedData::Missing::kDatabase};
  const Store store(database,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  const Reader reader(store, deterministic);
  TunedData data = {.file = store.path()};
  std::vector<const DeviceRecord*> wanted;  // Newest first.
  BestDevice found(reader);
  const std::vector<DeviceRecord> devices = store.devices();
  for (auto it = devices.rbegin(); it != devices.rend(); ++it) {
    const DeviceProfile& profile = it->profile;
    if (!is_wanted(profile, wanted_device)) continue;
    if (only != nullptr && !same_device(*only, profile)) continue;
    wanted.push_back(&*it);
    found.offer(*it);
  }
  const DeviceRecord* const best = found.record();
  std::vector<TunedKernel> best_kernels = found.take_kernels();
  const DeviceRecord* const known = best != nullptr ? best : untuned_device(store, wanted);
  if (known != nullptr) {
    if (::access(store.path().c_str(), W_OK) == 0) data.counted_device = known->profile;
    // Another machine's host must not decide between the tiers of this one.
    if (store.measured_here(known->id)) {
      data.calibration = reader.calibration(*known);
      data.calibrated_device = known->profile;
    }
  }
  if (best == nullptr) {
    data.missing = TunedData::Missing::kDevice;
    data.note = untuned_note(store, wanted_device, only);
    if (known != nullptr) data.model = DispatchModel(data.calibration, known->profile.kind, {});
    return data;
  }
  add_kernels(data, reader, *best, std::move(best_kernels));
  return data;
} catch (const DatabaseLocked& locked) {
  return {.note = locked.what()};
}

std::vector<TunedData> load_other_devices(const std::filesystem::path& database,
                                          const std::string& wanted_device,
                                          const DeviceProfile& first,
                                          std::span<const DeviceProfile> present) {
  const Store store(database,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  const Reader reader(store, Deterministic::kNo);
  const std::vector<DeviceRecord> records = store.devices();
  std::vector<TunedData> others;
  for (const DeviceProfile& device : present) {
    if (same_device(device, first) || !is_wanted(device, wanted_device)) continue;
    const auto record = std::ranges::find_if(
        records, [&](const DeviceRecord& r) { return same_device(r.profile, device); });
    if (record == records.end()) continue;
    std::vector<TunedKernel> kernels = reader.kernels(record->id);
    if (kernels.empty()) continue;
    TunedData data = {.file = store.path(), .calibration = reader.calibration(*record)};
    add_kernels(data, reader, *record, std::move(kernels));
    others.push_back(std::move(data));
  }
  return others;
}

}  // namespace rooftile
