// Vulkan behind plain C++: no Vulkan type leaves this folder. volk loads the Vulkan loader at run
// time, so that this code links and starts on a machine without any driver.
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

#include "core/compiled_executable.h"
#include "core/device_profile.h"
#include "core/performance_counter.h"
#include "core/shader_interface.h"
#include "runtime/device/physical/buffer_use.h"
#include "runtime/device/physical/enumerate.h"
#include "runtime/device/physical/fork.h"
#include "runtime/device/physical/validation_messages.h"

namespace rooftile {

/// Returns the driver's counters (VK_KHR_performance_query) that can be read around dispatches on
/// this device's compute queue, in the driver's order and without values. Empty where there are
/// none; no device is then opened. Errors as Device::open.
std::vector<PerformanceCounter> performance_counters(const DeviceProfile& profile);

class Device;

/// Size of a VkBuffer: as drivers handle texel views of all buffers alike (ranges.h), or as
/// demanded, which is what imported memory has.
enum class BufferSize : std::uint8_t { kWithRoom, kExact };

/// Owns memory and a VkBuffer. Movable. It keeps the logical device alive, so that objects may be
/// destroyed in any order. Each buffer has a memory allocation of its own, and drivers allow a few
/// thousand (often 4096): code that needs many buffers uses a pool. The content of kDevice and
/// kDownload buffers is initially undefined. A buffer cannot have zero bytes.
class Buffer {
 public:
  Buffer();
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::uint64_t size_bytes() const;
  /// Bytes of device memory, which drivers allocate in units of their own; 0 for views and imports.
  std::uint64_t allocated_bytes() const;
  void* mapped() const;  ///< Null when the host cannot access the buffer.
  /// For mapped memory: whether each side sees the other's writes without a flush by a run.
  bool host_coherent() const;
  /// Frees the buffer even where it would be leaked, on a device that was given up, but not in a
  /// forked child. No run may use the buffer any more.
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
  /// The driver compiler's statistics of the pipeline; empty unless the device was opened for it
  /// and has VK_KHR_pipeline_executable_properties.
  std::vector<CompiledExecutable> executables() const;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Buffer of binding i of the pipeline's interface: bytes [offset, offset + size). The offset is
/// aligned as the limits require.
struct BufferRange {
  const Buffer* buffer = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;  ///< 0: to the end of the buffer.
};
struct DispatchStep {
  const Pipeline* pipeline = nullptr;
  std::vector<BufferRange> bindings = {};
  std::vector<std::byte> push_constants = {};
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
};
struct CopyStep {
  BufferRange source, target;  ///< Both have the same size.
};
/// Zeroes a range of whole 32-bit words.
struct ClearStep {
  BufferRange target;
};
/// Everything before it is finished and visible to everything after it.
struct BarrierStep {};
using Step = std::variant<DispatchStep, CopyStep, ClearStep, BarrierStep>;

/// kWhole: two timestamps, before the first step and after the last one.
enum class Timing : std::uint8_t { kNone, kPerStep, kWhole };
/// Whether a list may be submitted again before its last submission is finished.
enum class Resubmission : std::uint8_t { kWhenFinished, kAnyTime };

/// A recorded, reusable list of steps. Its buffers and pipelines must outlive its last run. A run
/// starts after all earlier runs on its device are finished, and sees what they wrote; the host
/// sees what it wrote when it ends. One list runs once at a time (a second thread waits). Different
/// lists may be in flight together, in the order of submission.
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

/// Lists that submit() has queued. Movable. Thread-safe except for moves. A submission that is
/// destroyed before it is finished is leaked together with its device.
class Submission {
 public:
  Submission();
  ~Submission();
  Submission(Submission&&) noexcept;
  Submission& operator=(Submission&&) noexcept;

  /// Waits for at most timeout_ns (0: does not wait; infinity: no limit) and returns whether all
  /// work is finished; its writes are then visible to the host. Throws kDevice when the device is
  /// lost or was given up, possibly by another thread during the wait.
  bool wait(double timeout_ns) const;
  /// Whether the device may still access objects of this submission, as far as is known without
  /// waiting.
  bool under_way() const noexcept;
  /// Waits until the device accesses nothing of this submission any more, even if the device was
  /// given up. This is for memory that cannot be leaked. Buffers that only this work uses may be
  /// freed afterwards.
  void outlast() const noexcept;
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Vulkan objects of the program that uses the library. Handles are those of Vulkan's C headers.
struct ForeignDevice {
  using Function = void (*)();
  Function get_instance_proc_addr = nullptr;  ///< Of type PFN_vkGetInstanceProcAddr.
  void* instance = nullptr;                   ///< Of type VkInstance.
  void* physical_device = nullptr;            ///< Of type VkPhysicalDevice.
  void* device = nullptr;                     ///< Of type VkDevice.
  void* queue = nullptr;                      ///< Of type VkQueue. Null: nothing is ever submitted.
  std::uint32_t queue_family = 0;
  std::uint32_t api_version = 0;      ///< API version that the instance was created for.
  const void* create_info = nullptr;  ///< VkDeviceCreateInfo that the device was created with.
  /// Called around each use of the queue, for programs that use it from other threads as well.
  std::function<void()> lock_queue = {}, unlock_queue = {};
};

/// Extensions, and a chain for VkDeviceCreateInfo::pNext, with which a program creates its device
/// so that no kernel is ruled out. The chain begins with a VkPhysicalDeviceFeatures2. Immutable.
class DeviceRequirements {
 public:
  /// Reads foreign's instance, physical_device, api_version and get_instance_proc_addr. Errors as
  /// Device::adopt.
  explicit DeviceRequirements(const ForeignDevice& foreign);
  ~DeviceRequirements();
  const void* chain() const;                           ///< Valid while *this lives.
  const std::vector<const char*>& extensions() const;  ///< String constants.
  struct Impl;

 private:
  std::unique_ptr<const Impl> impl_;
};

struct RunResult {
  double wall_ns = 0;  ///< Submit to fence, by the host clock.
  /// Device clock, one value for the whole list when recorded with Timing::kWhole, and one per step
  /// when recorded with Timing::kPerStep, 0 for barriers. Steps without a barrier between them may
  /// overlap. Each then gets the time from its predecessor's end to its own end, so that the sum is
  /// right.
  std::vector<double> step_ns;
};

/// Counters that Device::count() reads: as many as fit into most_passes runs of the same work.
struct CounterChoice {
  /// Counters for which this returns true are chosen before the others. Empty: there is no
  /// preference.
  std::function<bool(const PerformanceCounter&)> first = {};
  std::uint32_t most_passes = 16;
};

struct CounterReadings {
  std::vector<PerformanceCounter> counters;  ///< In the driver's order; all values are finite.
  std::uint32_t passes = 0;                  ///< Number of times that the work was run.
};

/// State of the pipeline cache file, for reports and tests.
struct PipelineCacheState {
  bool loaded = false;         ///< A valid file was found and accepted by the driver.
  std::string note;            ///< Why it was not loaded, or why it could not be written.
  bool fault = false;          ///< The note reports more than a file that does not exist yet.
  std::filesystem::path file;  ///< Empty: no file is used.
};

/// Whether to keep compiler statistics, and the compiler's texts (assembly) as well. It may disable
/// a driver's caches, so it is for tuning and inspection only.
enum class CompilerStatistics : std::uint8_t { kDiscard, kKeep, kKeepWithTexts };

/// Whether counters can be read. It may slow a driver down, so it is for a separate device.
enum class CounterQueries : std::uint8_t { kOff, kOn };

struct DeviceOptions {
  std::filesystem::path cache_folder = {};  ///< Folder of the pipeline cache file; empty: no file.
  CompilerStatistics compiler_statistics = CompilerStatistics::kDiscard;
  CounterQueries counter_queries = CounterQueries::kOff;
};

/// One logical device with one compute queue. Thread-safe: submissions are serialised inside. The
/// Vulkan device stays open until its last Buffer, Pipeline and CommandList is destroyed.
///
/// Errors: kDevice (lost, driver failure, or used in a forked child), kOutOfMemory, kTimeout,
/// kUnsupported, kInvalidArgument. After kTimeout, and in a forked child, all objects of the device
/// are leaked instead of destroyed, because the driver would wait for work that may never end, or
/// for threads that do not exist. The kernel cleans up when the process ends.
class Device {
 public:
  /// Opens the device of enumerate_devices() with this UUID and driver. Throws kDevice when it is
  /// gone.
  static std::shared_ptr<Device> open(const DeviceProfile& profile,
                                      const DeviceOptions& options = {});
  /// Uses a device of the program, which stays open and must outlive everything that is created
  /// here. The profile contains only what the device was created with. Throws kInvalidArgument,
  /// kUnsupported (older than Vulkan 1.1, no such compute queue).
  static std::shared_ptr<Device> adopt(const ForeignDevice& foreign,
                                       const DeviceOptions& options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProfile& profile() const;
  PipelineCacheState pipeline_cache_state() const;
  /// Writes the pipeline cache (temporary file, rename, 0600, checksummed) if pipelines were added.
  /// The destructor does so too.
  void save_pipeline_cache() noexcept;

  /// Throws kInvalidArgument for 0 bytes; kOutOfMemory above max_memory_allocation_bytes, the size
  /// of the heap, or the free memory.
  Buffer create_buffer(std::uint64_t bytes, BufferUse use, BufferSize size = BufferSize::kWithRoom);
  /// Creates a buffer in the caller's memory without a copy. mapped() is that memory, which must
  /// outlive the buffer and every run that uses it. Address and length must be multiples of
  /// limits.host_import_alignment_bytes: kInvalidArgument otherwise. Throws kUnsupported where that
  /// limit is 0 or the driver refuses this memory.
  Buffer import_host(void* memory, std::uint64_t bytes);
  /// Returns a part of another buffer as a buffer over the same memory, not mapped. `whole` must
  /// outlive what is recorded with the view. Throws kInvalidArgument for a range outside the
  /// buffer.
  Buffer view(const Buffer& whole, std::uint64_t offset_bytes, std::uint64_t bytes);
  /// Same as view() for a VkBuffer of the program.
  Buffer foreign_view(std::uint64_t vk_buffer, std::uint64_t offset_bytes, std::uint64_t bytes);
  /// Creates a pipeline with the entry point "main". Throws kCompile for code that is not SPIR-V or
  /// that the driver refuses; kUnsupported for an unavailable subgroup size and for a workgroup or
  /// an interface above the limits. Some drivers (lavapipe) compile at the first run instead.
  /// own_cache: takes the data of a pipeline cache that was empty before. The pipeline is then
  /// compiled without the compiler's statistics, with which drivers fill no cache.
  Pipeline create_pipeline(std::span<const std::uint32_t> spirv, const ShaderInterface& interface,
                           std::string* own_cache = nullptr);
  /// Takes the compiled code of all pipelines since the last call, for add_code() on another Device
  /// of the same profile; empty where the driver keeps none. Do not call it on a device that has
  /// another use for its pipeline cache, nor either function while another thread creates
  /// pipelines. Throws kDevice, kOutOfMemory.
  std::string take_code();
  /// Lets later pipelines be made of this code where they are the same. What the driver refuses is
  /// ignored.
  void add_code(std::string_view code);
  /// Records steps after checking each against its pipeline, its buffers and the limits. Throws
  /// kInvalidArgument, kUnsupported.
  CommandList record(std::span<const Step> steps, Timing timing = Timing::kNone,
                     Resubmission resubmission = Resubmission::kWhenFinished);
  /// Records steps into a VkCommandBuffer of the program that is in the recording state, without a
  /// barrier before or after the steps. The list owns what the commands use and must outlive them;
  /// it cannot be run.
  CommandList record_into(void* vk_command_buffer, std::span<const Step> steps);
  /// Submits and waits. timeout_ns (infinity: no limit) includes the wait for other threads' work
  /// and, on lavapipe, for the compiler. After kTimeout the work is still running, so the device is
  /// given up (lost() becomes true). Throws kDevice when another thread gives the device up
  /// meanwhile.
  RunResult run(CommandList& list, double timeout_ns);
  /// Runs the steps once for each pass that the chosen counters need, with before_each (not
  /// counted) before every pass, and reads the counters. Holds the profiling lock meanwhile, which
  /// other programs may want, and waits up to a second for it. timeout_ns applies to each run.
  /// Throws kUnsupported without CounterQueries::kOn, counters, the lock, or a result; the device
  /// stays usable then.
  CounterReadings count(std::span<const Step> steps, const CounterChoice& choice, double timeout_ns,
                        CommandList* before_each = nullptr);
  /// Queues lists, each in a submission of its own, without waiting. Lists and the objects that
  /// they use must live until the submission has ended. Throws kUnsupported on a device without a
  /// queue.
  Submission submit(std::span<CommandList* const> lists);
  /// Treats running work as never ending, as after kTimeout. Threads that wait for this device get
  /// kDevice.
  void give_up();
  /// True after kTimeout, or when the driver has reported the loss.
  bool lost() const;
  /// Throws kDevice when the device is lost, or belongs to the parent of this process.
  void check_usable() const;

  struct Impl;

 private:
  class Recorder;
  class StepChecker;
  explicit Device(std::shared_ptr<Impl> impl);
  CommandList record_counted(std::span<const Step> steps, std::span<const std::uint32_t> counters);
  void run_pass(CommandList& list, std::uint32_t pass, double timeout_ns);
  std::shared_ptr<Impl> impl_;
};

}  // namespace rooftile
