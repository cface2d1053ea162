// Creation of a context's Resident at the first request.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

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
  /// - deterministic: on an untuned device, only the fallback computes.
  ResidentSource(std::shared_ptr<Device> adopted, std::string wanted,
                 std::filesystem::path database, std::filesystem::path cache_folder,
                 Precision precision, Deterministic deterministic)
      : adopted_(std::move(adopted)),
        wanted_(std::move(wanted)),
        database_(std::move(database)),
        own_kernels_(std::make_shared<KernelCache>(std::move(cache_folder))),
        precision_(precision),
        deterministic_(deterministic) {}

  const std::shared_ptr<Device>& adopted() const { return adopted_; }
  const std::filesystem::path& cache_folder() const { return own_kernels_->shaders.folder(); }

  /// The adopted device, else the first that `wanted` matches. Throws kUnsupported when there is
  /// none.
  DeviceProfile wanted_profile() const;

  /// Creates or returns the Resident: on the adopted device, else the tuned one (null: there is
  /// none), else the first device that `wanted` matches. Throws kUnsupported when there is no
  /// device, kDevice, kDatabase. A failure is not remembered, so the next call tries again.
  std::shared_ptr<Resident> get(DeviceTier* tuned);
  /// Result of get(); null if there is none yet.
  std::shared_ptr<Resident> opened();
  /// Calls on device buffers do not choose the kernel with this hash any more, which the device
  /// tier passes over already.
  void reject(const std::string& hash, const std::string& reason);

 private:
  std::shared_ptr<Resident> make(DeviceTier* tuned) const;
  /// Kernels of a device that is not tuned; null in a deterministic context.
  std::shared_ptr<OnDemandKernels> kernels_on_demand(const DeviceProfile& device) const;
  KernelHashes wrong_kernels(const DeviceProfile& device) const;

  const std::shared_ptr<Device> adopted_;
  const std::string wanted_;
  const std::filesystem::path database_;
  /// Kernels on an adopted or untuned device. Those on the tuned device are the device tier's.
  const std::shared_ptr<KernelCache> own_kernels_;
  const Precision precision_;
  const Deterministic deterministic_;
  std::mutex mutex_;
  std::shared_ptr<Resident> resident_;
};

}  // namespace rooftile
