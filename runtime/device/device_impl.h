// The state behind Device, Buffer, Pipeline and CommandList. Private to runtime/device.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/compiler_statistics.h"
#include "runtime/device/counters.h"
#include "runtime/device/device.h"
#include "runtime/device/error_translation.h"
#include "runtime/device/profile.h"
#include "runtime/device/vulkan.h"

namespace rooftile {

enum class DeviceState : std::uint8_t {
  kUsable,
  kLost,       // the driver said so: objects may be destroyed
  kAbandoned,  // work is still running on it: objects must be leaked
};

/// Shared by everything made of the device. Members are destroyed bottom up.
struct Device::Impl {
  ~Impl();

  PhysicalDetails details;
  bool foreign = false;                            // the program's own: handle is only borrowed
  std::function<void()> lock_queue, unlock_queue;  // of a foreign one; may be empty
  pid_t owner = 0;
  vk::raii::Device handle = nullptr;
  vk::raii::Queue queue = nullptr;
  std::mutex queue_mutex;  // Vulkan wants queues to be externally synchronised
  std::atomic<DeviceState> state = DeviceState::kUsable;

  CompilerStatistics statistics = CompilerStatistics::kDiscard;  // kKeep: asked for and offered
  std::optional<CounterSource> counters;                         // asked for and offered
  std::mutex counting;  // the profiling lock is held once at a time

  vk::raii::PipelineCache cache = nullptr;
  std::mutex cache_mutex;  // of the fields below
  PipelineCacheState cache_state;
  std::string cache_stored_hash;             // of the data as last loaded or stored
  std::atomic<std::uint32_t> pipelines = 0;  // created
  std::uint32_t pipelines_stored = 0;        // created when the file was last considered

  const DeviceProfile& profile() const { return details.offer.profile; }
  const DeviceLimits& limits() const { return profile().limits; }
  const vk::raii::DeviceDispatcher& dispatcher() const { return *handle.getDispatcher(); }

  void submit(const vk::SubmitInfo& work, vk::Fence fence);
  /// Submits work of that list, waits, and gives the wall time between in ns. kTimeout: abandoned.
  double run_and_wait(CommandList::Impl& list, const vk::SubmitInfo& work, double timeout_ns);
  /// False: not signalled by then. Throws kDevice soon after another thread has given the device
  /// up.
  bool wait(vk::Fence fence, double timeout_ns) const;

  bool forked() const;
  bool must_leak() const { return state == DeviceState::kAbandoned || forked(); }
  /// Throws kDevice when the device is lost, abandoned or another process's.
  void check_usable() const;

  /// Runs a call into the driver; its failure becomes Error, and a lost device is remembered.
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

/// Destroys, or leaks where the driver would hang. What is leaked holds the device, which therefore
/// stays as well.
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
  bool coherent = true;  // false: mapped memory must be flushed and invalidated
  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::Buffer handle = nullptr;
  void* mapped = nullptr;  // for the whole life of the memory

  // What commands name: those above, or another buffer's.
  vk::Buffer named;
  vk::DeviceMemory named_memory;
  std::uint64_t first_byte = 0;  // of the view in it
};

struct Pipeline::Impl {
  std::shared_ptr<Device::Impl> device;
  ShaderInterface interface;
  vk::raii::DescriptorSetLayout set_layout = nullptr;
  vk::raii::PipelineLayout layout = nullptr;
  vk::raii::Pipeline handle = nullptr;
};

struct CommandList::Impl {
  std::shared_ptr<Device::Impl> device;
  std::mutex running;
  std::vector<vk::raii::BufferView> views;
  vk::raii::DescriptorPool descriptors = nullptr;
  vk::raii::CommandPool pool = nullptr;
  vk::CommandBuffer commands;  // freed with its pool
  vk::raii::Fence finished = nullptr;
  std::vector<vk::MappedMemoryRange> incoherent;  // flushed before and invalidated after each run
  Resubmission resubmission = Resubmission::kWhenFinished;
  std::uint32_t queries = 0;
  vk::raii::QueryPool timestamps = nullptr;  // two a timed step; null without timing
  std::vector<int> first_query;              // one a step when timed, kNoQuery for barriers
  static constexpr int kNoQuery = -1;
  vk::raii::QueryPool counters = nullptr;  // one query around all commands; null without counters
  vk::CommandBuffer counter_reset;         // of it, to be run once before

  bool foreign() const { return *pool == vk::CommandPool(); }  // commands are the program's own
};

struct Submission::Impl {
  std::shared_ptr<Device::Impl> device;
  vk::raii::Fence finished = nullptr;
  std::vector<vk::MappedMemoryRange> incoherent;  // invalidated when finished
  mutable std::atomic<bool> done = false;
};

}  // namespace rooftile
