// Calls and transfers that run together, once or repeatedly.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "runtime/resident/expert_operation.h"
#include "runtime/resident/resident.h"
#include "runtime/resident/row_operation.h"

namespace rooftile {

using RowCall =
    std::variant<SoftmaxCall, MultiplyCall, TopKCall, GroupTokensCall, GatherCall, CombineCall>;

/// Thread-safe. The first run after an addition records the command lists.
class ResidentList {
 public:
  explicit ResidentList(std::shared_ptr<Resident> resident) : resident_(std::move(resident)) {}

  /// Adds a call; chooses and compiles its kernel. Throws as Resident::product, and then adds
  /// nothing.
  void add_gemm(ResidentWork work);
  /// Adds an operation on matrices; compiles its shader. Throws as row_operation() and RowShaders,
  /// and then adds nothing.
  void add_rows(const RowCall& call);
  /// Add transfers. Host memory of an upload is read at each run; host memory of a download is
  /// filled by the Run's wait. Throw kInvalidArgument for bytes outside the buffer.
  void add_upload(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes,
                  const void* from, std::uint64_t bytes);
  void add_download(std::shared_ptr<DeviceMemory> memory, std::uint64_t offset_bytes, void* to,
                    std::uint64_t bytes);

  /// Does not wait, unless the list has transfers and its last run is not finished: their mapped
  /// memory is there once. That run's host memory is filled then, if it was not. Throws
  /// kInvalidArgument for scales of a quantised B that no product may have; nothing is run then.
  std::shared_ptr<Run> run();

  bool has_downloads();
  /// Number of submissions of a run, for tests; 0 before the first run.
  std::size_t submissions();
  /// Names of the kernels of its products, for tests.
  std::vector<std::string> kernels();

 private:
  struct Gemm {
    ResidentWork work;
    ResidentProduct product;
  };
  struct Transfer {
    std::shared_ptr<DeviceMemory> memory;
    std::uint64_t offset_bytes = 0, bytes = 0;
    const void* from = nullptr;  ///< Host memory that an upload reads.
    void* to = nullptr;          ///< Host memory that a download fills.
    std::shared_ptr<Buffer> staging = nullptr;
  };
  /// Recorded state of the list, shared by the runs in flight.
  struct Recorded {
    std::vector<CommandList> lists;
    std::vector<std::shared_ptr<const void>> keeps;
    std::vector<std::shared_ptr<const Kernel>> kernels;
    MemoryUses uses;
    double expected_ns = 0;
  };
  std::shared_ptr<Recorded> record();
  /// Of the products, before they run (runtime/resident/resident_scales.h).
  void check_scales();

  const std::shared_ptr<Resident> resident_;
  std::mutex mutex_;  ///< Guards all members below.
  std::vector<std::variant<Gemm, RowOperation, Transfer>> items_;
  std::shared_ptr<Recorded> recorded_;  ///< Null: items were added since the last recording.
  std::vector<Transfer*> transfers_;    ///< Items of items_, when recorded.
  std::shared_ptr<Run> last_run_;       ///< Set only for lists with transfers.
};

}  // namespace rooftile
