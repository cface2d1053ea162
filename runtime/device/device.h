// Vulkan behind plain C++: no Vulkan type leaves this folder. volk loads the loader at run time, so that everything here
// also links and starts on a machine without any driver.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/device_profile.h"
#include "core/shader_interface.h"

namespace rooftile {

struct Enumeration {
  std::vector<DeviceProfile> devices;  // one per deviceUUID, discrete first, then integrated, virtual, software
  std::string note;                    // why there is none, or what was left out; empty when all is well
};
/// Never throws for a missing or broken driver: that is an empty list and a note.
Enumeration enumerate_devices();

enum class BufferUse : std::uint8_t {
  kDevice,    // fastest for kernels; mapped only on unified memory
  kUpload,    // host writes, device reads; always mapped
  kDownload,  // device writes, host reads; always mapped, cached
};

class Device;

/// Owns memory and a VkBuffer; movable; must not outlive its Device.
class Buffer {
 public:
  Buffer();
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::uint64_t size_bytes() const;
  void* mapped() const;  // nullptr when the host cannot see it
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
  struct Impl;

 private:
  friend class Device;
  std::unique_ptr<Impl> impl_;
};

/// Binding i of the pipeline's interface. The range is [offset, offset + size); offset is aligned as the limits demand.
struct BufferRange {
  const Buffer* buffer = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;  // 0: to the end
};
struct DispatchStep {
  const Pipeline* pipeline = nullptr;
  std::vector<BufferRange> bindings;
  std::vector<std::byte> push_constants;
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
};
struct CopyStep {
  BufferRange source, target;  // equal sizes
};
struct BarrierStep {};  // everything before is finished and visible to everything after (host reads included)
using Step = std::variant<DispatchStep, CopyStep, BarrierStep>;

enum class Timing : std::uint8_t { kNone, kPerStep };

/// A recorded, reusable list of steps. Buffers and pipelines named in it must outlive it.
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

struct RunResult {
  double wall_ns = 0;             // submit to fence, host clock
  std::vector<double> step_ns;    // device clock, one per step when recorded with Timing::kPerStep (0 for barriers)
};

/// Counters of the on-disk pipeline cache, for reports and tests.
struct PipelineCacheState {
  bool loaded = false;      // a valid file was found
  std::string note;         // why not
};

struct DeviceOptions {
  std::filesystem::path cache_folder;  // pipeline cache file's place; empty: no file
};

/// One logical device with one compute queue. Thread-safe: submissions are serialised inside.
/// Errors: kDevice (lost or driver failure), kOutOfMemory, kTimeout, kUnsupported.
class Device {
 public:
  static std::shared_ptr<Device> open(const DeviceProfile& profile, const DeviceOptions& options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProfile& profile() const;
  PipelineCacheState pipeline_cache_state() const;
  /// Writes the pipeline cache (temporary file, rename, 0600, checksummed) if pipelines were added; also on destruction.
  void save_pipeline_cache() noexcept;

  Buffer create_buffer(std::uint64_t bytes, BufferUse use);
  Pipeline create_pipeline(std::span<const std::uint32_t> spirv, const ShaderInterface& interface);
  CommandList record(std::span<const Step> steps, Timing timing = Timing::kNone);
  /// Submits and waits. kTimeout leaves the work running: the device must then be given up (lost() becomes true).
  RunResult run(CommandList& list, double timeout_ns);
  bool lost() const;

  struct Impl;

 private:
  explicit Device(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
