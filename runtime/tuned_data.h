// What a context reads from the tuning database, once, when it is opened.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/device_profile.h"
#include "db/records.h"
#include "runtime/context.h"
#include "runtime/kernel_ranking.h"
#include "runtime/model/dispatch.h"

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
  std::string note = {};                // why there is no tuned device, "" when there is one
  Missing missing = Missing::kNothing;  // kDevice: no tuned one, or none that was wanted
  std::filesystem::path file = {};      // absolute, links resolved
  // Its untuned problems may be counted in the file.
  std::optional<DeviceProfile> counted_device = {};
  Calibration calibration = {};  // of the tuned device, else of the one that would be tuned
  DispatchModel model = {};
  // Of the tuned device, or nothing:
  std::optional<DeviceProfile> profile = {};
  std::optional<KernelRanking> ranking = {};
  std::unordered_set<Bucket, BucketHash> buckets = {};
};

/// How long calls wait for whoever keeps the database locked. Tuners write for milliseconds.
inline constexpr int kDatabasePatienceMs = 1000;

/// wanted_device: part of a name or UUID, or "". only: nothing of other devices, if not null.
/// Throws kDatabase; a file that is not there, or locked, is a note. The latter is said on stderr.
TunedData load_tuned_data(const std::filesystem::path& database, const std::string& wanted_device,
                          Deterministic deterministic, const DeviceProfile* only = nullptr);

}  // namespace rooftile
