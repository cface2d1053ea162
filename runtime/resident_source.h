// Makes a context's Resident when it is first asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/device_tier.h"
#include "runtime/resident.h"

namespace rooftile {

/// Thread-safe.
class ResidentSource {
 public:
  /// adopted: the program's own device, or null. wanted: part of a name or UUID. database: what it
  /// condemns is not run; it need not exist. precision: of calls that do not name one.
  ResidentSource(std::shared_ptr<Device> adopted, std::string wanted,
                 std::filesystem::path database, std::filesystem::path cache_folder,
                 Precision precision)
      : adopted_(std::move(adopted)),
        wanted_(std::move(wanted)),
        database_(std::move(database)),
        cache_folder_(std::move(cache_folder)),
        precision_(precision) {}

  const std::shared_ptr<Device>& adopted() const { return adopted_; }

  /// On the adopted device, or the tuned one (null: there is none), or the first one that is
  /// wanted. Throws kUnsupported when there is none, kDevice, kDatabase. A failure is not
  /// remembered.
  std::shared_ptr<Resident> get(DeviceTier* tuned);
  /// What get() has made; null: nothing yet.
  std::shared_ptr<Resident> opened();

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
};

}  // namespace rooftile
