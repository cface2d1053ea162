#include "runtime/dispatch/resident_source.h"

#include <algorithm>

#include "core/error.h"
#include "db/store.h"
#include "generator/version.h"
#include "runtime/tuned/tuned_data.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {

std::shared_ptr<Resident> ResidentSource::get(DeviceTier* tuned) {
  const std::lock_guard lock(mutex_);
  if (resident_ != nullptr) return resident_;
  resident_ = make(tuned);
  return resident_;
}

void ResidentSource::reject(const std::string& hash, const std::string& reason) {
  own_kernels_->reject(hash, reason);
}

std::shared_ptr<Resident> ResidentSource::opened() {
  const std::lock_guard lock(mutex_);
  return resident_;
}

DeviceProfile ResidentSource::wanted_profile() const {
  if (adopted_ != nullptr) return adopted_->profile();
  check_not_forked();
  const Enumeration found = enumerate_devices();
  const auto match = std::ranges::find_if(
      found.devices, [&](const DeviceProfile& d) { return is_wanted(d, wanted_); });
  if (match == found.devices.end())
    fail(ErrorCode::kUnsupported, "no Vulkan device{}{}{}",
         wanted_.empty() ? "" : fmt::format(" that matches '{}'", wanted_),
         found.note.empty() ? "" : ": ", found.note);
  return *match;
}

KernelHashes ResidentSource::wrong_kernels(const DeviceProfile& device) const {
  KernelHashes hashes;
  if (!database_exists(database_)) return hashes;
  const Store store(database_,
                    {.mode = OpenMode::kReadOnly, .busy_timeout_ms = kDatabasePatienceMs});
  for (const DeviceRecord& record : store.devices())
    if (same_device(record.profile, device))
      for (std::string& hash : store.wrong_kernels(record.id, kGeneratorVersion))
        hashes.insert(std::move(hash));
  return hashes;
}

std::shared_ptr<OnDemandKernels> ResidentSource::kernels_on_demand(
    const DeviceProfile& device) const {
  if (deterministic_ == Deterministic::kYes) return nullptr;
  return std::make_shared<OnDemandKernels>(
      device, database_, cache_folder(),
      [device, folder = cache_folder()] { return Device::open(device, {.cache_folder = folder}); });
}

std::shared_ptr<Resident> ResidentSource::make(DeviceTier* tuned) const {
  const auto resident = [&](const std::shared_ptr<Device>& device,
                            const std::shared_ptr<KernelCache>& kernels,
                            std::function<std::shared_ptr<Device>()> checking_device) {
    const DeviceProfile& profile = device->profile();
    return std::make_shared<Resident>(
        device,
        tuned != nullptr ? tuned->chooser()
                         : std::make_shared<const KernelChooser>(
                               profile, DeviceRates(), KernelRanking(profile.limits, {}, {}),
                               kernels_on_demand(profile), kernels),
        wrong_kernels(profile), kernels, std::move(checking_device), precision_);
  };
  if (adopted_ != nullptr)
    // The library submits nothing to the program's device on its own initiative.
    return resident(adopted_, own_kernels_,
                    [profile = adopted_->profile()] { return Device::open(profile); });
  const std::shared_ptr<Device> device =
      tuned != nullptr ? tuned->device()
                       : Device::open(wanted_profile(), {.cache_folder = cache_folder()});
  return resident(device, tuned != nullptr ? tuned->kernel_cache() : own_kernels_,
                  [device] { return device; });
}

}  // namespace rooftile
