// The device side of a context for programs that keep their data on the device: memory, transfers,
// calls and lists of calls. All work runs in the order of submission.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/kernel/staging.h"
#include "runtime/resident/device_memory.h"
#include "runtime/resident/resident_kernels.h"
#include "runtime/resident/resident_run.h"
#include "runtime/resident/resident_scales.h"
#include "runtime/resident/resident_segments.h"
#include "runtime/resident/row_shaders.h"
#include "runtime/support/log.h"

namespace rooftile {

/// A call, and the memory and workspace that it uses.
struct ResidentWork {
  ResidentCall call;
  MemoryUses uses = {};  ///< Memory of all its regions.
  WorkspaceBound workspace = {};
  BufferUses buffers = {};
};

/// Thread-safe. The destructor waits for work in flight.
class Resident : public std::enable_shared_from_this<Resident> {
 public:
  /// `chooser` has the kernels of this device; null: it was not tuned. wrong_kernels, cache and
  /// checking_device: see ResidentKernels. `precision` applies to calls that do not set one.
  Resident(std::shared_ptr<Device> device, std::shared_ptr<const KernelChooser> chooser,
           KernelHashes wrong_kernels, std::shared_ptr<KernelCache> cache,
           std::function<std::shared_ptr<Device>()> checking_device,
           Precision precision = Precision::kStandard);
  ~Resident();

  const std::shared_ptr<Device>& device() const { return device_; }
  Precision precision() const { return precision_; }
  const KernelRanking& ranking() const { return chooser_->ranking(); }
  ResidentKernels& kernels() { return kernels_; }
  RowShaders& row_shaders() { return row_shaders_; }

  /// Rounds up to whole vectors of 16 bytes. Throws as Device::create_buffer.
  std::shared_ptr<DeviceMemory> create_memory(std::uint64_t bytes);

  /// Wait for the runs that use the memory, and for the copy. Throw kInvalidArgument for bytes
  /// outside the memory; kTimeout when the device does not answer, which is then given up.
  void upload(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes,
              const void* from, std::uint64_t bytes);
  void download(const std::shared_ptr<DeviceMemory>& memory, std::uint64_t offset_bytes, void* to,
                std::uint64_t bytes);

  enum class Direction : std::uint8_t { kUp, kDown };
  /// Copies through a staging buffer, for upload() and download() where the host cannot map the
  /// device's memory.
  void staged(Direction direction, const std::shared_ptr<DeviceMemory>& memory,
              std::uint64_t offset_bytes, char* host, std::uint64_t bytes);

  /// Chooses and compiles the kernel of a call. Throws as ResidentKernels::choose.
  ResidentProduct product(const ResidentWork& work, AwaitCertificate await);

  /// Checks the scales of a quantised B as check_resident_scales().
  void check_scales(const ResidentCall& call, const MemoryUses& uses,
                    std::span<const PendingUpload> pending = {});

  /// Does not wait, but for a kernel that is not compiled yet, and for scales that are read for the
  /// first time. Throws kInvalidArgument as check_resident_scales.
  std::shared_ptr<Run> gemm(const ResidentWork& work);

  /// Marks the product's C and its workspace as written, for later work.
  static void mark_written(const ResidentWork& work);

  /// Waits for all that is in flight; false when it takes longer.
  bool finish(double timeout_ns);

  /// Adds the call's steps to `segments`, its memory to `uses`, what else they need to `keeps`, and
  /// its kernel to `kernels`.
  void append(Segments& segments, const ResidentProduct& product, const ResidentWork& work,
              MemoryUses& uses, std::vector<std::shared_ptr<const void>>& keeps,
              std::vector<std::shared_ptr<const Kernel>>& kernels);
  std::vector<CommandList> record(const Segments& segments, Resubmission resubmission);
  /// Records the call into a VkCommandBuffer of the program.
  CommandList record_into(void* vk_command_buffer, const ResidentProduct& product,
                          const Region& workspace);
  /// Submits lists that `contents`, or an object that it keeps alive, owns.
  std::shared_ptr<Run> submit(const std::vector<CommandList*>& lists, RunContents contents,
                              const MemoryUses& uses);
  /// Throws kTimeout, and gives the device up, when the wait exceeds what a working device would
  /// need for all work in flight.
  void wait_for(const Run& run);

  void check_range(const DeviceMemory& memory, std::uint64_t offset_bytes,
                   std::uint64_t bytes) const;

 private:
  void wait_for(DeviceMemory& memory);
  std::shared_ptr<DeviceMemory> own_workspace(std::uint64_t bytes);
  void reap();  ///< The caller holds submitting_.
  double patience_ns();

  const pid_t owner_;                   ///< Process that created this object.
  const std::unique_ptr<OnceLog> log_;  ///< Null: decisions are not logged.
  const Precision precision_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<const KernelChooser> chooser_;
  ResidentKernels kernels_;
  RowShaders row_shaders_;
  const Buffer nothing_;  ///< Stands in for operands that are not read.

  std::mutex staging_;  ///< Serialises transfers through mapped buffers.
  BufferPool pool_;

  std::mutex workspace_mutex_;
  std::shared_ptr<DeviceMemory> workspace_;

  std::mutex submitting_;
  std::deque<std::shared_ptr<Run>> in_flight_;  ///< In the order of the queue.
};

}  // namespace rooftile
