// Products and transfers that run together, again and again.
#pragma once

#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "runtime/resident.h"

namespace rooftile {

/// Thread-safe. Recorded at the first run after something was added.
class ResidentList {
 public:
  explicit ResidentList(std::shared_ptr<Resident> resident) : resident_(std::move(resident)) {}

  /// Chooses and compiles the kernel. Throws as Resident::product; nothing is added then.
  void add_gemm(ResidentWork work);
  /// Host memory is read at each run, and filled by the Run's wait. Throw kInvalidArgument for
  /// bytes that are not in the buffer.
  void add_upload(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes,
                  const void* from, std::uint64_t bytes);
  void add_download(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes, void* to,
                    std::uint64_t bytes);

  /// Does not wait, unless the list has transfers and its last run is not finished: their mapped
  /// memory is there once. That run's host memory is filled then, if it was not.
  std::shared_ptr<Run> run();

  bool has_downloads();
  /// Of a run, for tests; 0 before the first one.
  std::size_t submissions();

 private:
  struct Gemm {
    ResidentWork work;
    ResidentProduct product;
  };
  struct Transfer {
    std::shared_ptr<DeviceMemory> memory;
    std::uint64_t offset_bytes = 0, bytes = 0;
    const void* from = nullptr;  // uploads
    void* to = nullptr;          // downloads
    std::shared_ptr<Buffer> staging = nullptr;
  };
  /// What a run of the list in its present state needs; runs in flight share it.
  struct Recorded {
    std::vector<CommandList> lists;
    std::vector<std::shared_ptr<const void>> keeps;
    MemoryUses uses;
    double expected_ns = 0;
  };
  std::shared_ptr<Recorded> record();

  const std::shared_ptr<Resident> resident_;
  std::mutex mutex_;  // of everything below
  std::vector<std::variant<Gemm, Transfer>> items_;
  std::shared_ptr<Recorded> recorded_;  // null: items were added
  std::vector<Transfer*> transfers_;    // of items_, when recorded
  std::shared_ptr<Run> last_run_;       // with transfers only
};

}  // namespace rooftile
