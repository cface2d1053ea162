// A product on device buffers as one kernel computes it: where everything is bound, what workspace
// it takes, which steps it is.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/resident_call.h"

namespace rooftile {

/// Where the operands of a call are bound: at the last aligned byte before each, so that kernels
/// see small offsets only. Independent of the kernel.
struct BoundCall {
  ResidentCall call;
  Problem problem;  // without depth when A and B are not read
  Placement placement;
  Region a, b, c, residual;      // aligned
  Region vectors;                // of the epilogue, where all lie in one buffer
  bool gathers_vectors = false;  // else they are copied next to each other first
  // The panels of an operand that is packed already, and which one it is; then the operand itself
  // is not read. Null: both operands are read as they are stored.
  const Buffer* panels = nullptr;
  Operand packed = Operand::kB;
};
/// Throws kUnsupported for a quantised B, and what belongs to it, that is not aligned.
BoundCall bind(const ResidentCall& call, const DeviceLimits& limits);

/// What the offset of every binding, and of a workspace, is a multiple of, in bytes.
std::uint64_t binding_alignment(const DeviceLimits& limits);

/// Parts of a workspace, one behind the other, each aligned.
struct WorkspaceParts {
  std::uint64_t packed_a_bytes = 0, packed_b_bytes = 0, parts_bytes = 0, vectors_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Bytes of a buffer that a step may touch.
struct Access {
  const Buffer* buffer = nullptr;
  std::uint64_t begin = 0, end = 0;
};

struct ProductSteps {
  std::vector<Step> steps;
  std::size_t first_gemm = 0, gemms = 0;  // among the steps: what a long product is split into
  std::deque<Buffer> views;               // that the steps name; needed until they are recorded
  std::vector<Access> reads, writes;      // the workspace is in both
};

/// Immutable and therefore thread-safe.
class ResidentProduct {
 public:
  /// The kernel is legal for the bound call. expected_ns: predicted, packing included; a step's is
  /// at most step_ns, as far as tiles allow. Throws kUnsupported when a kernel reads whole words
  /// beyond a buffer's end.
  ResidentProduct(std::shared_ptr<Device> device, std::shared_ptr<const Kernel> kernel,
                  BoundCall bound, double expected_ns, double step_ns);
  /// Nothing to do.
  ResidentProduct() = default;

  bool empty() const { return kernel_ == nullptr; }
  const std::shared_ptr<const Kernel>& kernel() const { return kernel_; }
  double expected_ns() const { return expected_ns_; }
  std::uint64_t workspace_bytes() const { return workspace_.total_bytes; }

  /// workspace: aligned and large enough, or no buffer when none is needed; kInvalidArgument when
  /// it overlaps an operand. nothing: stands for operands that are not read; binding_alignment
  /// bytes at least.
  ProductSteps steps(const Region& workspace, const Buffer& nothing) const;

  /// Only what packs this operand, into a buffer of the format's size. C is not touched, nor is the
  /// other operand: both may have no place.
  ProductSteps packing_steps(Operand operand, const Buffer& panels) const;

 private:
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
  double expected_ns_ = 0;
};

}  // namespace rooftile
