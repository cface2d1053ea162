// Where the kernels of a call on device buffers find A and B, of which one may be packed.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernel_ranking.h"
#include "runtime/packed_operand.h"
#include "runtime/resident_product.h"

namespace rooftile {

/// Immutable. The call, and what it names, must outlive it.
class OperandSources {
 public:
  /// Throws kInvalidArgument for an operand that was packed for another device, and what bind()
  /// throws.
  OperandSources(const ResidentCall& call, const Device& device, const DeviceLimits& limits);

  /// Of kernels that read both operands as stored, or pack them. Where a packed operand is there as
  /// panels only, no such kernel can run: has_stored() is false.
  const BoundCall& stored() const { return stored_; }
  bool has_stored() const { return has_stored_; }
  /// The same for a certain kernel: with panels, where they are there and it reads them.
  BoundCall bound_for(const Variant& v) const;

  /// Kernels that can run the call, best first.
  std::vector<RankedChoice> ranked(const KernelRanking& ranking, const DeviceLimits& limits) const;

 private:
  const PackedOperand* packed_ = nullptr;  // null: neither operand is packed
  bool has_stored_ = true;
  BoundCall stored_;
};

}  // namespace rooftile
