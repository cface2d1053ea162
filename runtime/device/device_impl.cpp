#include "runtime/device/device_impl.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "runtime/device/adopt.h"
#include "runtime/device/device.h"
#include "runtime/device/physical/exit_of_children.h"
#include "runtime/device/physical/features.h"
#include "runtime/device/physical/instance.h"
#include "runtime/device/pipeline_cache_file.h"

namespace rooftile {
namespace {

bool same_device(const DeviceProfile& x, const DeviceProfile& y) {
  return x.device_uuid == y.device_uuid && x.driver_id == y.driver_id &&
         x.driver_version == y.driver_version;
}

struct Found {
  vk::raii::PhysicalDevice physical;
  PhysicalDetails details;
};

Found find(const DeviceProfile& profile) {
  for (vk::raii::PhysicalDevice& physical : shared_instance().handle.enumeratePhysicalDevices()) {
    auto details = read_details(physical, *shared_instance().handle);
    if (details && same_device(details->offer.profile, profile))
      return {std::move(physical), std::move(*details)};
  }
  fail(ErrorCode::kDevice,
       "{} (uuid {}, driver {}) is no longer there; enumerate the devices again", profile.name,
       profile.device_uuid, profile.driver_name);
}

vk::raii::Device create_logical_device(const Found& found, CompilerStatistics statistics,
                                       CounterQueries counters) {
  const float priority = 1.0f;
  vk::DeviceQueueCreateInfo queue;
  queue.queueFamilyIndex = found.details.queue_family;
  queue.setQueuePriorities(priority);

  DeviceFeatures features(found.physical, found.details);
  std::vector<const char*> extensions = features.extensions();
  vk::DeviceCreateInfo info;
  info.pNext = features.chain();
  const auto chain = [&](auto& structure) {
    structure.pNext = const_cast<void*>(std::exchange(info.pNext, &structure));
  };
  vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
  if (statistics != CompilerStatistics::kDiscard) {
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    executables.pipelineExecutableInfo = VK_TRUE;
    chain(executables);
  }
  vk::PhysicalDevicePerformanceQueryFeaturesKHR queries;
  if (counters == CounterQueries::kOn) {
    extensions.push_back(VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
    queries.performanceCounterQueryPools = VK_TRUE;
    chain(queries);
  }
  info.setQueueCreateInfos(queue);
  info.setPEnabledExtensionNames(extensions);
  return vk::raii::Device(found.physical, info);
}

void open_cache(Device::Impl& impl, const std::filesystem::path& folder) {
  vk::PipelineCacheCreateInfo info;
  if (!folder.empty()) {
    impl.cache_state.file = folder / pipeline_cache_file_name(impl.profile());
    const LoadedPipelineCache loaded = load_pipeline_cache(impl.cache_state.file, impl.profile());
    impl.cache_state.note = loaded.note;
    impl.cache_state.fault = !loaded.note.empty() && !loaded.missing;
    if (loaded.note.empty()) {
      info.initialDataSize = loaded.data.size();
      info.pInitialData = loaded.data.data();
      try {
        impl.cache = vk::raii::PipelineCache(impl.handle, info);
        impl.cache_stored_hash = hash_hex(loaded.data);
        impl.cache_state.loaded = true;
        return;
      } catch (const vk::SystemError& error) {
        impl.cache_state.note = fmt::format("{} is ignored: the driver refused it ({})",
                                            impl.cache_state.file.string(), error.what());
        impl.cache_state.fault = true;
      }
    }
  }
  impl.cache = vk::raii::PipelineCache(impl.handle, vk::PipelineCacheCreateInfo());
}

}  // namespace

std::vector<PerformanceCounter> performance_counters(const DeviceProfile& profile) {
  return translated(fmt::format("looking for counters of {}", profile.name), [&] {
    std::vector<PerformanceCounter> counters;
    const Found found = find(profile);
    if (const auto source = find_counters(found.physical, found.details))
      for (const OfferedCounter& counter : source->offered) counters.push_back(counter.description);
    return counters;
  });
}

vk::raii::Fence Device::Impl::take_fence() {
  vk::raii::Fence fence = nullptr;
  {
    const std::lock_guard lock(fences_mutex);
    if (!spare_fences.empty()) {
      fence = std::move(spare_fences.back());
      spare_fences.pop_back();
    }
  }
  if (*fence == vk::Fence()) return {handle, vk::FenceCreateInfo()};
  (*handle).resetFences(*fence, dispatcher());
  return fence;
}

void Device::Impl::keep_fence(vk::raii::Fence fence) noexcept {
  if (*fence == vk::Fence() || state != DeviceState::kUsable) return;
  const std::lock_guard lock(fences_mutex);
  // Takes no memory.
  if (spare_fences.size() < kMostSpareFences) spare_fences.push_back(std::move(fence));
}

Device::Impl::~Impl() {
  spare_fences.clear();
  if (!foreign) return;
  cache.clear();
  queue.clear();
  handle.release();
}

bool Device::Impl::forked() const { return ::getpid() != owner; }

void Device::Impl::check_usable() const {
  if (forked()) {
    fail(ErrorCode::kDevice,
         "{} was opened by process {} and cannot be used by its forked child; open it after the "
         "fork",
         profile().name, owner);
  }
  switch (state.load()) {
    case DeviceState::kUsable:
      return;
    case DeviceState::kLost:
      fail(ErrorCode::kDevice, "{} is lost; close it and open it again", profile().name);
    case DeviceState::kAbandoned:
      fail(ErrorCode::kDevice,
           "{} is not used after a timeout; open it again, in a new process if work may still run "
           "on it",
           profile().name);
  }
}

std::shared_ptr<Device> Device::open(const DeviceProfile& profile, const DeviceOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->owner = ::getpid();
  const LoadingDrivers loading;
  translated(fmt::format("opening {}", profile.name), [&] {
    Found found = find(profile);
    impl->details = std::move(found.details);
    // The option is tested first, because the devices of programs need no further enumeration.
    if (options.compiler_statistics != CompilerStatistics::kDiscard &&
        offers_executable_properties(found.physical,
                                     found.physical.enumerateDeviceExtensionProperties()))
      impl->statistics = options.compiler_statistics;
    if (options.counter_queries == CounterQueries::kOn)
      impl->counters = find_counters(found.physical, impl->details);
    impl->handle =
        create_logical_device({std::move(found.physical), impl->details}, impl->statistics,
                              impl->counters ? CounterQueries::kOn : CounterQueries::kOff);
    impl->queue = vk::raii::Queue(impl->handle, impl->details.queue_family, 0);
    open_cache(*impl, options.cache_folder);
  });
  end_children_without_earlier_handlers();
  return std::shared_ptr<Device>(new Device(std::move(impl)));
}

std::shared_ptr<Device> Device::adopt(const ForeignDevice& foreign, const DeviceOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->owner = ::getpid();
  translated("adopting a device", [&] {
    AdoptedDevice adopted = adopt_device(foreign);
    impl->foreign = true;
    impl->details = std::move(adopted.details);
    impl->handle = std::move(adopted.handle);
    if (foreign.queue != nullptr)
      impl->queue = vk::raii::Queue(impl->handle, static_cast<VkQueue>(foreign.queue));
    impl->lock_queue = foreign.lock_queue;
    impl->unlock_queue = foreign.unlock_queue;
    open_cache(*impl, options.cache_folder);
  });
  return std::shared_ptr<Device>(new Device(std::move(impl)));
}

Device::Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Device::~Device() {
  if (impl_->must_leak()) {
    static_cast<void>(new std::shared_ptr<Impl>(std::move(impl_)));
  } else {
    save_pipeline_cache();
  }
}

const DeviceProfile& Device::profile() const { return impl_->profile(); }

void Device::check_usable() const { impl_->check_usable(); }

bool Device::lost() const { return impl_->state != DeviceState::kUsable; }

PipelineCacheState Device::pipeline_cache_state() const {
  std::lock_guard lock(impl_->cache_mutex);
  return impl_->cache_state;
}

void Device::save_pipeline_cache() noexcept try {
  if (impl_->forked() || lost()) return;
  std::lock_guard lock(impl_->cache_mutex);
  const std::uint32_t pipelines = impl_->pipelines;
  if (impl_->cache_state.file.empty() || pipelines == impl_->pipelines_stored) return;
  // Also after a failure: a write to a full disk is not tried again for the same pipelines.
  impl_->pipelines_stored = pipelines;
  try {
    const std::vector<std::uint8_t> bytes = impl_->cache.getData();
    const std::string_view data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string hash = hash_hex(data);
    if (hash == impl_->cache_stored_hash) return;
    store_pipeline_cache(impl_->cache_state.file, impl_->profile(), data);
    impl_->cache_stored_hash = hash;
  } catch (const std::exception& error) {
    impl_->cache_state.note = error.what();
    impl_->cache_state.fault = true;
  }
} catch (...) {  // Only copying a message can throw here.
}

}  // namespace rooftile
