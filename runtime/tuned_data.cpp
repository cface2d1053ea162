#include "runtime/tuned_data.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "db/database_locked.h"
#include "db/store.h"
#include "generator/version.h"
#include "runtime/log.h"
#include "runtime/wanted_device.h"

namespace rooftile {
namespace {

bool adds_atomically(const CandidateRecord& candidate) {
  return candidate.variant.reduction == Reduction::kAtomic;
}

/// Of a device, without those that a deterministic context does without.
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
  Calibration calibration(RowId device) const {
    Calibration calibration = calibration_from_figures(store_.latest_calibration(device));
    if (deterministic_) calibration.host = calibration.host1;  // what the host has then
    return calibration;
  }

 private:
  const Store& store_;
  bool deterministic_;
};

}  // namespace

TunedData load_tuned_data(const std::filesystem::path& database, const std::string& wanted_device,
                          Deterministic deterministic, const DeviceProfile* only) try {
  if (!std::filesystem::exists(database))
    return {.note =
                fmt::format("no tuning database at {}; run `rooftile tune`", database.string())};
  const Store store(database,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  const Reader reader(store, deterministic);
  TunedData data = {.file = store.path()};
  const DeviceRecord* best = nullptr;
  const DeviceRecord* known = nullptr;  // tuned or not
  std::vector<TunedKernel> best_kernels;
  const std::vector<DeviceRecord> devices = store.devices();
  // Newest first: a device whose driver was updated is there twice. Hardware before software.
  for (auto it = devices.rbegin(); it != devices.rend(); ++it) {
    const DeviceProfile& profile = it->profile;
    if (!is_wanted(profile, wanted_device)) continue;
    if (only != nullptr && !same_device(*only, profile)) continue;
    if (known == nullptr || profile.kind < known->profile.kind) known = &*it;
    std::vector<TunedKernel> kernels = reader.kernels(it->id);
    if (kernels.empty()) continue;
    if (best == nullptr || profile.kind < best->profile.kind) {
      best = &*it;
      best_kernels = std::move(kernels);
    }
  }
  if (best != nullptr) known = best;
  if (known != nullptr) {
    // Whoever counts migrates an older file, and programs of that version would be shut out.
    if (!store.older() && ::access(store.path().c_str(), W_OK) == 0)
      data.counted_device = known->profile;
    data.calibration = reader.calibration(known->id);
  }
  if (best == nullptr) {
    data.note =
        wanted_device.empty()
            ? fmt::format("no tuned device in {}; run `rooftile tune`", database.string())
            : fmt::format("no tuned device in {} matches '{}'", database.string(), wanted_device);
    if (known != nullptr) data.model = DispatchModel(data.calibration, known->profile.kind, {});
    return data;
  }
  std::vector<TunedTime> times;
  for (const TunedKernel& kernel : best_kernels) {
    const bool seen = std::any_of(times.begin(), times.end(),
                                  [&](const TunedTime& t) { return t.problem == kernel.problem; });
    if (seen) continue;  // by rank: the first of a problem is its best
    times.push_back({.problem = kernel.problem,
                     .ns = kernel.kernel_ns + kernel.pack_ns,
                     .tile_m = kernel.candidate.variant.tile_m,
                     .tile_n = kernel.candidate.variant.tile_n});
    data.buckets.insert(bucket_of(kernel.problem));
  }
  data.profile = best->profile;
  const std::vector<PortfolioKernel> portfolio = reader.portfolio(best->id);
  data.ranking.emplace(best->profile.limits, data.calibration.device, std::move(best_kernels),
                       portfolio);
  data.model =
      DispatchModel(data.calibration, best->profile.kind, times, data.ranking->predicted_classes());
  return data;
} catch (const DatabaseLocked& locked) {
  log_warning(fmt::format("{}; this context computes on the host", locked.what()));
  return {.note = locked.what()};
}

}  // namespace rooftile
