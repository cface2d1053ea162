// State behind Device, Buffer, Pipeline and CommandList. Private to runtime/device.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/counters.h"
#include "runtime/device/device.h"
#include "runtime/device/physical/error_translation.h"
#include "runtime/device/physical/executable_properties.h"
#include "runtime/device/physical/profile.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

enum class DeviceState : std::uint8_t {
  kUsable,
  kLost,       ///< The driver reported the loss; objects may be destroyed.
  kAbandoned,  ///< Work is still running on the device; objects must be leaked.
};

/// Shared by all objects of the device. Members are destroyed from the last to the first.
struct Device::Impl {
  Impl() { spare_fences.reserve(kMostSpareFences); }
  ~Impl();

  PhysicalDetails details;
  bool foreign = false;  ///< The program's own device; the handle is only borrowed.
  std::function<void()> lock_queue, unlock_queue;  ///< For a foreign device; may be empty.
  pid_t owner = 0;
  vk::raii::Device handle = nullptr;
  vk::raii::Queue queue = nullptr;
  std::mutex queue_mutex;  ///< Vulkan requires external synchronisation of queues.
  std::atomic<DeviceState> state = DeviceState::kUsable;

  static constexpr std::size_t kMostSpareFences = 16;
  std::mutex fences_mutex;
  std::vector<vk::raii::Fence> spare_fences;  ///< Its capacity is kMostSpareFences.
  /// Returns a fence that is not signalled. Fences are used again, because NVIDIA's driver takes
  /// 0.4 ms to make one. Throws as the driver does.
  vk::raii::Fence take_fence();
  /// Keeps a fence that no work will signal, or destroys it; it may be null.
  void keep_fence(vk::raii::Fence fence) noexcept;

  /// What was requested, if the device supports it.
  CompilerStatistics statistics = CompilerStatistics::kDiscard;
  std::optional<CounterSource> counters;  ///< Set if requested and supported.
  /// Held while counters are read, because the profiling lock can be held only once.
  std::mutex counting;

  vk::raii::PipelineCache cache = nullptr;
  std::mutex cache_mutex;  ///< Guards the members below.
  PipelineCacheState cache_state;
  std::string cache_stored_hash;             ///< Hash of the data as last loaded or stored.
  std::atomic<std::uint32_t> pipelines = 0;  ///< Pipelines created.
  std::uint32_t pipelines_stored = 0;  ///< Pipelines created when the file was last considered.

  const DeviceProfile& profile() const { return details.offer.profile; }
  const DeviceLimits& limits() const { return profile().limits; }
  /// Its type has another name in later Vulkan headers.
  const auto& dispatcher() const { return *handle.getDispatcher(); }

  void submit(const vk::SubmitInfo& work, vk::Fence fence);
  /// Submits work of that list, waits, and returns the wall time in ns. On kTimeout the device is
  /// abandoned.
  double run_and_wait(CommandList::Impl& list, const vk::SubmitInfo& work, double timeout_ns);
  /// Returns false when the fence was not signalled in time. Throws kDevice soon after another
  /// thread has given the device up.
  bool wait(vk::Fence fence, double timeout_ns) const;

  bool forked() const;
  bool must_leak() const { return state == DeviceState::kAbandoned || forked(); }
  /// Throws kDevice when the device is lost, abandoned or belongs to another process.
  void check_usable() const;

  /// Calls the driver, translates its failure to Error and records a lost device.
  template <typename Call>
  decltype(auto) driver(std::string_view doing, Call&& call,
                        ErrorCode otherwise = ErrorCode::kDevice) {
    try {
      return std::forward<Call>(call)();
    } catch (const vk::SystemError& error) {
      if (is_device_lost(error)) state = DeviceState::kLost;
      throw_translated(error, doing, otherwise);
    }
  }
};

/// Destroys the object, or leaks it where the driver would hang. A leaked object keeps a reference
/// to the device, which therefore stays too.
template <typename Impl>
void destroy_or_leak(std::unique_ptr<Impl>& impl) {
  if (impl != nullptr && impl->device->must_leak()) {
    static_cast<void>(impl.release());
  } else {
    impl.reset();
  }
}

struct Buffer::Impl {
  std::shared_ptr<Device::Impl> device;
  std::uint64_t size_bytes = 0;
  std::uint64_t allocated_bytes = 0;
  bool coherent = true;  ///< False: mapped memory must be flushed and invalidated.
  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::Buffer handle = nullptr;
  void* mapped = nullptr;  ///< Mapped for the whole life of the memory.

  // Buffer and memory that commands use: those above, or another buffer's.
  vk::Buffer named;
  std::uint64_t driver_bytes = 0;  ///< Size of `named`; 0: not known.
  vk::DeviceMemory named_memory;
  std::uint64_t first_byte = 0;  ///< First byte of the view in it.
};

struct Pipeline::Impl {
  std::shared_ptr<Device::Impl> device;
  ShaderInterface interface;
  vk::raii::DescriptorSetLayout set_layout = nullptr;
  vk::raii::PipelineLayout layout = nullptr;
  vk::raii::Pipeline handle = nullptr;
};

struct CommandList::Impl {
  ~Impl() {
    if (device != nullptr && !pending) device->keep_fence(std::move(finished));
  }

  std::shared_ptr<Device::Impl> device;
  std::mutex running;
  std::vector<vk::raii::BufferView> views;
  vk::raii::DescriptorPool descriptors = nullptr;
  vk::raii::CommandPool pool = nullptr;
  vk::CommandBuffer commands;          ///< Freed with its pool.
  vk::raii::Fence finished = nullptr;  ///< Of Device::run; null before the first one.
  bool pending = false;  ///< Work may still signal that fence, because waiting for it failed.
  /// Flushed before and invalidated after each run.
  std::vector<vk::MappedMemoryRange> incoherent;
  Resubmission resubmission = Resubmission::kWhenFinished;
  std::uint32_t queries = 0;
  /// Two queries for each time; null without timing.
  vk::raii::QueryPool timestamps = nullptr;
  std::vector<int> first_query;  ///< One entry for each time, kNoQuery for barriers.
  static constexpr int kNoQuery = -1;
  /// One query around all commands; null without counters.
  vk::raii::QueryPool counters = nullptr;
  vk::CommandBuffer counter_reset;  ///< Resets that query; must run once before it is used.

  /// The commands belong to the program.
  bool foreign() const { return *pool == vk::CommandPool(); }
};

struct Submission::Impl {
  ~Impl() {
    if (device != nullptr) device->keep_fence(std::move(finished));
  }

  std::shared_ptr<Device::Impl> device;
  vk::raii::Fence finished = nullptr;
  std::vector<vk::MappedMemoryRange> incoherent;  ///< Invalidated when the work is finished.
  mutable std::atomic<bool> done = false;
};

}  // namespace rooftile
