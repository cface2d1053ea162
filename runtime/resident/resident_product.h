// A call on device buffers as one kernel computes it: bindings, workspace and steps.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel/kernel.h"
#include "runtime/resident/resident_call.h"

namespace rooftile {

/// Bindings of a call's operands. Each operand is bound at the last aligned byte before it, so that
/// kernels see small offsets only. Independent of the kernel.
struct BoundCall {
  ResidentCall call;
  Problem problem;  ///< With k == 0 when A and B are not read.
  Placement placement;
  Region a, b, c, residual;      ///< Aligned starts.
  Region vectors;                ///< Scales and bias of the epilogue, where all lie in one buffer.
  bool gathers_vectors = false;  ///< Otherwise they are first copied next to each other.
  /// Packed layout of the operand that `packed` names; that operand itself is then not read. Null:
  /// both operands are read as they are stored.
  const Buffer* panels = nullptr;
  Operand packed = Operand::kB;
};
/// Throws kUnsupported for a quantised B, or its scales or zero points, that are not aligned.
BoundCall bind(const ResidentCall& call, const DeviceLimits& limits);

/// Alignment in bytes of every binding's offset and of a workspace.
std::uint64_t binding_alignment(const DeviceLimits& limits);

/// Sections of a workspace, one behind the other, each aligned.
struct WorkspaceParts {
  std::uint64_t packed_a_bytes = 0, packed_b_bytes = 0, parts_bytes = 0, vectors_bytes = 0;
  std::uint64_t tiles_bytes = 0, status_bytes = 0;  ///< Of groups whose sizes the device knows.
  std::uint64_t total_bytes = 0;
};

/// Bytes of a buffer that a step may access.
struct Access {
  const Buffer* buffer = nullptr;
  std::uint64_t begin = 0, end = 0;
};

struct ProductSteps : KernelSteps {
  /// Buffer views that the steps refer to; needed until the steps are recorded.
  std::deque<Buffer> views;
  std::vector<Access> reads, writes;  ///< The workspace is in both.
};

/// Immutable and therefore thread-safe.
class ResidentProduct {
 public:
  /// The kernel must be legal for the bound call. expected_ns is the predicted time, packing
  /// included. Each step takes at most step_ns, as far as tiles allow. Throws kUnsupported when a
  /// kernel would read whole words beyond a buffer's end.
  ResidentProduct(std::shared_ptr<Device> device, std::shared_ptr<const Kernel> kernel,
                  BoundCall bound, double expected_ns, double step_ns);
  /// Empty: there is nothing to do.
  ResidentProduct() = default;

  bool empty() const { return kernel_ == nullptr; }
  const std::shared_ptr<const Kernel>& kernel() const { return kernel_; }
  /// Tiles of groups whose sizes the host knows; null: there are none. The steps read it.
  const std::shared_ptr<const Buffer>& tile_list() const { return tile_list_; }
  /// That of submissions: slowness() times the predicted time.
  double expected_ns() const { return expected_ns_; }
  std::uint64_t workspace_bytes() const { return workspace_.total_bytes; }

  /// Returns the steps. `workspace` is aligned and large enough, or has no buffer when none is
  /// needed; throws kInvalidArgument when it overlaps an operand. `nothing` stands in for operands
  /// that are not read, and has at least binding_alignment bytes.
  ProductSteps steps(const Region& workspace, const Buffer& nothing) const;

  /// Returns only the steps that pack this operand into `panels`, a buffer of the layout's size. C
  /// and the other operand are not touched and may have no place.
  ProductSteps packing_steps(Operand operand, const Buffer& panels) const;

 private:
  void add_groups();
  const Buffer* add_group_steps(ProductSteps& made, const Buffer* list, const Buffer* status) const;
  void bind_operand(ProductSteps& made, Operands& operands, Operand operand) const;
  Operands operands(ProductSteps& made, const Buffer& nothing) const;
  const Buffer* bound_operand(ProductSteps& made, const char* what, const Region& region,
                              std::int64_t elements, std::int64_t element_bits,
                              std::vector<Access>& accesses) const;
  const Buffer* bound_view(ProductSteps& made, const char* what, const Region& region,
                           std::uint64_t needed_bytes) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Kernel> kernel_;
  BoundCall bound_;
  GemmPlan plan_;
  WorkspaceParts workspace_;
  std::int64_t tiles_ = 0;  ///< Of a grouped problem, at most.
  std::shared_ptr<const Buffer> tile_list_;
  double expected_ns_ = 0;
};

}  // namespace rooftile
