// Creation of a context's Resident at the first request.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/execute/device_tier.h"
#include "runtime/resident/resident.h"

namespace rooftile {

/// Thread-safe.
class ResidentSource {
 public:
  /// - adopted: the program's own device, or null.
  /// - wanted: substring of a device's name or UUID.
  /// - database: file whose blocked kernels are not run; it need not exist.
  /// - precision: applies to calls that do not set one.
  ResidentSource(std::shared_ptr<Device> adopted, std::string wanted,
                 std::filesystem::path database, std::filesystem::path cache_folder,
                 Precision precision)
      : adopted_(std::move(adopted)),
        wanted_(std::move(wanted)),
        database_(std::move(database)),
        cache_folder_(std::move(cache_folder)),
        precision_(precision) {}

  const std::shared_ptr<Device>& adopted() const { return adopted_; }

  /// Creates or returns the Resident: on the adopted device, else the tuned one (null: there is
  /// none), else the first device that `wanted` matches. Throws kUnsupported when there is no
  /// device, kDevice, kDatabase. A failure is not remembered, so the next call tries again.
  std::shared_ptr<Resident> get(DeviceTier* tuned);
  /// Result of get(); null if there is none yet.
  std::shared_ptr<Resident> opened();
  /// Calls on device buffers do not choose the kernel with this hash any more.
  void reject(const std::string& hash, const std::string& reason);

 private:
  std::shared_ptr<Resident> make(DeviceTier* tuned) const;
  std::shared_ptr<Device> open_wanted() const;
  KernelHashes condemned(const DeviceProfile& device) const;

  const std::shared_ptr<Device> adopted_;
  const std::string wanted_;
  const std::filesystem::path database_;
  const std::filesystem::path cache_folder_;
  const Precision precision_;
  std::mutex mutex_;
  std::shared_ptr<Resident> resident_;
  std::unordered_map<std::string, std::string> rejected_;  // hash and reason
};

}  // namespace rooftile
