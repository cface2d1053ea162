// The device side of a context for programs that keep their data there: memory, transfers, products
// and lists of them. Everything runs in the order in which it was submitted.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device_memory.h"
#include "runtime/resident_kernels.h"
#include "runtime/resident_run.h"
#include "runtime/resident_segments.h"
#include "runtime/staging.h"

namespace rooftile {

/// A product and what to compute it with.
struct ResidentWork {
  ResidentCall call;
  MemoryUses uses = {};  // of all its regions
  WorkspaceBound workspace = {};
  BufferUses buffers = {};
};

/// Thread-safe. Destroying it waits for what is in flight.
class Resident : public std::enable_shared_from_this<Resident> {
 public:
  /// ranking: of this device as it was tuned; nothing when it was not. condemned, checking_device,
  /// on_demand: as ResidentKernels says. precision: of calls that do not name one.
  Resident(std::shared_ptr<Device> device, std::optional<KernelRanking> ranking,
           KernelHashes condemned, const std::filesystem::path& cache_folder,
           std::function<std::shared_ptr<Device>()> checking_device,
           std::shared_ptr<OnDemandKernels> on_demand = nullptr,
           Precision precision = Precision::kStandard);
  ~Resident();

  const std::shared_ptr<Device>& device() const { return device_; }
  Precision precision() const { return precision_; }
  const KernelRanking* ranking() const { return ranking_ ? &*ranking_ : nullptr; }
  ResidentKernels& kernels() { return kernels_; }

  /// Rounded up to whole vectors of 16 bytes. Throws as Device::create_buffer.
  std::shared_ptr<DeviceMemory> create_memory(std::uint64_t bytes);

  /// Wait for the runs that use the memory, and for the copy. Throw kInvalidArgument for bytes that
  /// are not in it; kTimeout when the device does not answer, and is given up then.
  void upload(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes,
              const void* from, std::uint64_t bytes);
  void download(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes, void* to,
                std::uint64_t bytes);

  enum class Direction : std::uint8_t { kUp, kDown };
  /// What upload and download do where the host does not see the device's memory.
  void staged(Direction direction, const std::shared_ptr<DeviceMemory>& memory,
              std::uint64_t offset_bytes, char* host, std::uint64_t bytes);

  /// The kernel for a product, compiled. Throws as ResidentKernels::choose.
  ResidentProduct product(const ResidentWork& work);

  /// Does not wait, but for a kernel that is not compiled yet.
  std::shared_ptr<Run> gemm(const ResidentWork& work);

  /// Waits for all that is in flight; false when it takes longer.
  bool finish(double timeout_ns);

  /// Adds the product's steps; work's memory, workspace and kernel go to keeps and uses.
  void append(Segments& segments, const ResidentProduct& product, const ResidentWork& work,
              MemoryUses& uses, std::vector<std::shared_ptr<const void>>& keeps);
  std::vector<CommandList> record(const Segments& segments, Resubmission resubmission);
  /// The product into a VkCommandBuffer of the program's own.
  CommandList record_into(void* vk_command_buffer, const ResidentProduct& product,
                          const Region& workspace);
  /// Submits lists that contents, or what it keeps, own.
  std::shared_ptr<Run> submit(const std::vector<CommandList*>& lists, RunContents contents,
                              const MemoryUses& uses);
  /// Throws kTimeout, and gives the device up, when it takes longer than a device that works would
  /// for all that is in flight.
  void wait_for(const Run& run);

  void check_range(const DeviceMemory& memory, std::uint64_t offset_bytes,
                   std::uint64_t bytes) const;

 private:
  void wait_for(DeviceMemory& memory);
  std::shared_ptr<DeviceMemory> own_workspace(std::uint64_t bytes);
  void reap();  // submitting_ is held
  double patience_ns();

  const pid_t owner_;  // the process
  const Precision precision_;
  const std::shared_ptr<Device> device_;
  const std::optional<KernelRanking> ranking_;
  ResidentKernels kernels_;
  const Buffer nothing_;  // stands for operands that are not read

  std::mutex staging_;  // of transfers through mapped buffers
  BufferPool pool_;

  std::mutex workspace_mutex_;
  std::shared_ptr<DeviceMemory> workspace_;

  std::mutex submitting_;
  std::deque<std::shared_ptr<Run>> in_flight_;  // in the queue's order
};

}  // namespace rooftile
