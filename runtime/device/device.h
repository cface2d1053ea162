// Vulkan behind plain C++: no Vulkan type leaves this folder. volk loads the loader at run time, so
// that everything here also links and starts on a machine without any driver.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/compiler_facts.h"
#include "core/device_profile.h"
#include "core/performance_counter.h"
#include "core/shader_interface.h"

namespace rooftile {

struct Enumeration {
  // One a deviceUUID: discrete first, then integrated, virtual, other, software.
  std::vector<DeviceProfile> devices;
  std::string note;  // why there is none, or what was left out; empty when all is well
};
/// Never throws for a missing or broken driver: that is an empty list and a note.
Enumeration enumerate_devices();

/// What enumerate_devices() begins with: loader and drivers are in the process from then on, but
/// nothing of theirs runs yet.
void load_drivers() noexcept;

/// Counters of the driver (VK_KHR_performance_query) that can be read around dispatches on this
/// device's compute queue, in the driver's order and without values. Empty where there are none,
/// which opens no device. Errors as Device::open.
std::vector<PerformanceCounter> performance_counters(const DeviceProfile& profile);

/// Whether this process was forked from one that had used Vulkan, and therefore cannot.
bool forked_after_use();

enum class BufferUse : std::uint8_t {
  kDevice,    // fastest for kernels; mapped only on unified memory
  kUpload,    // host writes, device reads; always mapped
  kDownload,  // device writes, host reads; always mapped, cached
};

class Device;

/// Owns memory and a VkBuffer; movable; keeps the logical device alive, so that the order of
/// destruction is free. Each has its own memory allocation, and drivers allow a few thousand (often
/// 4096): whoever needs many pools them above. kDevice and kDownload content starts undefined. Zero
/// bytes are not a buffer.
class Buffer {
 public:
  Buffer();
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::uint64_t size_bytes() const;
  /// Of the device's memory, which drivers give in units of their own; 0 for views and imports.
  std::uint64_t allocated_bytes() const;
  void* mapped() const;  // nullptr when the host cannot see it
  /// Of mapped memory: whether each side sees the other's writes without a run's flush.
  bool host_coherent() const;
  /// Frees it even where it would be leaked, for what no run uses any more: of a device that has
  /// been given up, not in a forked child.
  void free() noexcept;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

class Pipeline {
 public:
  Pipeline();
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  const ShaderInterface& interface() const;
  /// What the driver's compiler says of it; nothing unless the device was opened for that and has
  /// VK_KHR_pipeline_executable_properties.
  std::vector<CompilerStatistic> compiler_statistics() const;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Binding i of the pipeline's interface. The range is [offset, offset + size); offset is aligned
/// as the limits demand.
struct BufferRange {
  const Buffer* buffer = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;  // 0: to the end
};
struct DispatchStep {
  const Pipeline* pipeline = nullptr;
  std::vector<BufferRange> bindings = {};
  std::vector<std::byte> push_constants = {};
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
};
struct CopyStep {
  BufferRange source, target;  // equal sizes
};
/// Zeroes a range of whole 32-bit words.
struct ClearStep {
  BufferRange target;
};
/// Everything before is finished and visible to everything after.
struct BarrierStep {};
using Step = std::variant<DispatchStep, CopyStep, ClearStep, BarrierStep>;

enum class Timing : std::uint8_t { kNone, kPerStep };
/// Whether a list may be submitted again before its last submission is finished.
enum class Resubmission : std::uint8_t { kWhenFinished, kAnyTime };

/// A recorded, reusable list of steps. Buffers and pipelines named in it must outlive its last run.
/// A run starts after all earlier runs on its device are finished and sees what they wrote; what it
/// wrote is visible to the host at its end. One list runs once at a time (a second thread waits);
/// different lists may be in flight together, in submission order.
class CommandList {
 public:
  CommandList();
  ~CommandList();
  CommandList(CommandList&&) noexcept;
  CommandList& operator=(CommandList&&) noexcept;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Lists that submit() has put on the queue. Movable. Thread-safe, but for moves. One that is
/// destroyed before it is finished is leaked, with its device.
class Submission {
 public:
  Submission();
  ~Submission();
  Submission(Submission&&) noexcept;
  Submission& operator=(Submission&&) noexcept;

  /// Waits at most so long (0: not at all; infinity: for ever) and says whether all is finished;
  /// what was written is then visible to the host. Throws kDevice when the device is lost, or given
  /// up, maybe by another thread meanwhile.
  bool wait(double timeout_ns) const;
  /// Whether the device may still touch something of it, as far as is known without waiting.
  bool under_way() const noexcept;
  /// Waits until the device touches nothing more of it, even if it has been given up: for memory
  /// that cannot be leaked. Buffers of this work alone may be freed then.
  void outlast() const noexcept;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Vulkan objects of the program that uses the library. Handles are those of Vulkan's C headers.
struct ForeignDevice {
  using Function = void (*)();
  Function get_instance_proc_addr = nullptr;  // PFN_vkGetInstanceProcAddr
  void* instance = nullptr;                   // VkInstance
  void* physical_device = nullptr;            // VkPhysicalDevice
  void* device = nullptr;                     // VkDevice
  void* queue = nullptr;                      // VkQueue; null: nothing is ever submitted
  std::uint32_t queue_family = 0;
  std::uint32_t api_version = 0;      // that the instance was made for
  const void* create_info = nullptr;  // VkDeviceCreateInfo that the device was made with
  // Around each use of the queue, for programs that use it from other threads as well.
  std::function<void()> lock_queue = {}, unlock_queue = {};
};

/// What a program makes its device with so that no kernel is left out: extensions, and a chain for
/// VkDeviceCreateInfo::pNext that begins with a VkPhysicalDeviceFeatures2. Immutable.
class DeviceRequirements {
 public:
  /// Of foreign's instance, physical_device, api_version and get_instance_proc_addr. Errors as
  /// Device::adopt.
  explicit DeviceRequirements(const ForeignDevice& foreign);
  ~DeviceRequirements();
  const void* chain() const;                           // lives while *this does
  const std::vector<const char*>& extensions() const;  // string constants
  struct Impl;

 private:
  std::unique_ptr<const Impl> impl_;
};

struct RunResult {
  double wall_ns = 0;  // submit to fence, host clock
  // Device clock, one per step when recorded with Timing::kPerStep, 0 for barriers. Steps without a
  // barrier between them may overlap; each then gets the time from its predecessor's end to its
  // own, so that the sum is right.
  std::vector<double> step_ns;
};

/// Which counters Device::count() reads: as many as go into so many runs of the same work.
struct CounterChoice {
  // Those for which it is true are chosen before the others; empty: none of them.
  std::function<bool(const PerformanceCounter&)> first = {};
  std::uint32_t most_passes = 16;
};

struct CounterReadings {
  std::vector<PerformanceCounter> counters;  // in the driver's order; values are finite
  std::uint32_t passes = 0;                  // so often the work was run
};

/// State of the on-disk pipeline cache, for reports and tests.
struct PipelineCacheState {
  bool loaded = false;                  // a valid file was found and taken by the driver
  std::string note;                     // why not, or why it could not be written
  bool fault = false;                   // note tells of more than a file that is not there yet
  std::filesystem::path file;           // empty: no file is used
  std::uint32_t pipelines_created = 0;  // since the device was opened
};

/// Keeping compiler statistics may cost a driver its caches: for tuning only.
enum class CompilerStatistics : std::uint8_t { kDiscard, kKeep };

/// A driver may be slower where counters can be read: for a device of its own.
enum class CounterQueries : std::uint8_t { kOff, kOn };

struct DeviceOptions {
  std::filesystem::path cache_folder = {};  // pipeline cache file's place; empty: no file
  CompilerStatistics compiler_statistics = CompilerStatistics::kDiscard;
  CounterQueries counter_queries = CounterQueries::kOff;
};

/// One logical device with one compute queue. Thread-safe: submissions are serialised inside.
/// The device itself stays open until the last Buffer, Pipeline and CommandList of it is gone, too.
/// Errors: kDevice (lost, driver failure, or a process forked from the one that opened it),
/// kOutOfMemory, kTimeout, kUnsupported, kInvalidArgument. After kTimeout, and in a forked child,
/// everything of the device is leaked instead of destroyed: the driver would wait for work that may
/// never end, or for threads that do not exist. The kernel cleans up when the process ends.
class Device {
 public:
  /// Opens the device of enumerate_devices() with this uuid and driver; kDevice when it is gone.
  static std::shared_ptr<Device> open(const DeviceProfile& profile,
                                      const DeviceOptions& options = {});
  /// Uses a device of the program's own, which stays open. Its profile has only what the device was
  /// made with. kInvalidArgument, kUnsupported (older than Vulkan 1.1, no such compute queue). It
  /// must outlive everything that is made here.
  static std::shared_ptr<Device> adopt(const ForeignDevice& foreign,
                                       const DeviceOptions& options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProfile& profile() const;
  PipelineCacheState pipeline_cache_state() const;
  /// Writes the pipeline cache (temporary file, rename, 0600, checksummed) if pipelines were added;
  /// also on destruction.
  void save_pipeline_cache() noexcept;

  /// kInvalidArgument for 0 bytes; kOutOfMemory above max_memory_allocation_bytes, the heap, or
  /// what is free.
  Buffer create_buffer(std::uint64_t bytes, BufferUse use);
  /// A buffer in the caller's memory, without a copy; mapped() is that memory, which must outlive
  /// the buffer and every run that uses it. Place and length must be multiples of
  /// limits.host_import_alignment_bytes: kInvalidArgument; kUnsupported where that is 0 or the
  /// driver refuses this memory.
  Buffer import_host(void* memory, std::uint64_t bytes);
  /// A part of another buffer, as a buffer of its own that names the same memory, not mapped. The
  /// whole must outlive what is recorded with it. kInvalidArgument outside of it.
  Buffer view(const Buffer& whole, std::uint64_t offset_bytes, std::uint64_t bytes);
  /// The same of a VkBuffer of the program's own.
  Buffer foreign_view(std::uint64_t vk_buffer, std::uint64_t offset_bytes, std::uint64_t bytes);
  /// Entry point "main". kCompile for what is not SPIR-V or what the driver refuses; kUnsupported
  /// for a subgroup size that cannot be had, a workgroup or an interface above the limits. Some
  /// drivers (lavapipe) compile at the first run instead.
  Pipeline create_pipeline(std::span<const std::uint32_t> spirv, const ShaderInterface& interface);
  /// Checks every step against its pipeline, buffers and the limits: kInvalidArgument,
  /// kUnsupported.
  CommandList record(std::span<const Step> steps, Timing timing = Timing::kNone,
                     Resubmission resubmission = Resubmission::kWhenFinished);
  /// The same into a VkCommandBuffer of the program's own that is being recorded, without a barrier
  /// before or behind the steps. The list owns what the commands use, and must outlive them; it
  /// cannot be run.
  CommandList record_into(void* vk_command_buffer, std::span<const Step> steps);
  /// Submits and waits; timeout_ns (infinity: for ever) counts the wait for other threads' work
  /// and, on lavapipe, for the compiler. kTimeout leaves the work running: the device must then be
  /// given up (lost() becomes true). kDevice when another thread gives it up meanwhile.
  RunResult run(CommandList& list, double timeout_ns);
  /// Runs steps once for each pass that the chosen counters take, before_each (uncounted) ahead of
  /// every pass, and reads them. Holds the profiling lock meanwhile, which other programs may want;
  /// waits a second for it. timeout_ns is that of each run. kUnsupported: not opened with
  /// CounterQueries::kOn, nothing to count, no lock, or no result; the device is usable after that.
  CounterReadings count(std::span<const Step> steps, const CounterChoice& choice, double timeout_ns,
                        CommandList* before_each = nullptr);
  /// Puts lists on the queue, each in a submission of its own, and does not wait. Lists and what
  /// they name must outlive the result's end. kUnsupported on a device without a queue.
  Submission submit(std::span<CommandList* const> lists);
  /// Work may never end: as after kTimeout. Threads that wait for this device get kDevice.
  void give_up();
  /// After kTimeout, or when the driver has reported the loss.
  bool lost() const;

  struct Impl;

 private:
  class Recorder;
  class StepChecker;
  explicit Device(std::shared_ptr<Impl> impl);
  CommandList record_counted(std::span<const Step> steps, std::span<const std::uint32_t> counters);
  void run_pass(CommandList& list, std::uint32_t pass, double timeout_ns);
  std::shared_ptr<Impl> impl_;
};

/// With ROOFTILE_VALIDATION=1 in the environment at the first use, the Khronos validation layer
/// (core and synchronisation checks) watches every call; its messages go to stderr and into this
/// list. A missing layer is a message, too.
std::vector<std::string> validation_messages();
/// The same, and forgets them.
std::vector<std::string> take_validation_messages();

}  // namespace rooftile
