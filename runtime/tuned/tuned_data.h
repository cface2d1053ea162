// Data that a context reads from the tuning database once, when it is opened.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/device_profile.h"
#include "db/tables/records.h"
#include "runtime/call/call.h"
#include "runtime/model/dispatch.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

struct BucketHash {
  std::size_t operator()(const Bucket& b) const {
    std::size_t h = 0;
    for (const int band : {b.m_band, b.n_band, b.k_band, b.batch_band})
      h = 64 * h + static_cast<std::size_t>(band);
    return h;
  }
};

struct TunedData {
  enum class Missing : std::uint8_t { kNothing, kDatabase, kDevice };
  std::string note = {};                ///< Why there is no tuned device, "" when there is one.
  Missing missing = Missing::kNothing;  ///< kDevice: no device is tuned, or none that was wanted.
  std::filesystem::path file = {};      ///< Absolute path with links resolved.
  /// Device whose untuned problems may be counted in the file.
  std::optional<DeviceProfile> counted_device = {};
  /// Calibration of the tuned device, else of the device that would be tuned: by this machine.
  Calibration calibration = {};
  DispatchModel model = {};
  std::optional<DeviceProfile> calibrated_device = {};  ///< Of `calibration`, if there is one.
  /// The members from here on describe the tuned device, if there is one.
  std::optional<DeviceProfile> profile = {};
  std::optional<KernelRanking> ranking = {};
  std::unordered_set<Bucket, BucketHash> buckets = {};
};

/// The time of each problem's best kernel, packing included. Its first kernel counts: lists are
/// sorted by rank. The model predicts single products and batches: none of grouped problems.
std::vector<TunedTime> best_times(std::span<const TunedKernel> kernels);

/// How long calls wait for a locked database. Tuners write for milliseconds.
inline constexpr int kDatabasePatienceMs = 1000;

/// `wanted_device` is a substring of a name or UUID, or "". If `only` is not null, nothing of other
/// devices is loaded. Throws kDatabase. A missing or locked file gives a note instead.
TunedData load_tuned_data(const std::filesystem::path& database, const std::string& wanted_device,
                          Deterministic deterministic, const DeviceProfile* only = nullptr);

/// Returns the other tuned devices among those that are present, which may compute parts of the
/// calls of a context on `first`. Throws kDatabase, and DatabaseLocked as one.
std::vector<TunedData> load_other_devices(const std::filesystem::path& database,
                                          const std::string& wanted_device,
                                          const DeviceProfile& first,
                                          std::span<const DeviceProfile> present);

}  // namespace rooftile
