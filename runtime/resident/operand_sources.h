// Where the kernels of a call on device buffers find A and B, of which one may be packed.
#pragma once

#include "runtime/call/packed_operand.h"
#include "runtime/resident/resident_product.h"
#include "runtime/tuned/kernel_chooser.h"

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
  /// Whether this kernel finds both operands in a layout that it reads.
  bool can_run(const Variant& v) const {
    return has_stored_ || packed_->panels_for(v, stored_.problem) != nullptr;
  }
  /// The same for a certain kernel: with panels, where they are there and it reads them.
  BoundCall bound_for(const Variant& v) const;

  /// Where they lie, for the choice of kernels. This and the limits must outlive it.
  KernelChooser::OnDevice where(const DeviceLimits& limits) const {
    return {.at = stored_.placement,
            .limits = limits,
            .packed = packed_,
            .is_stored = has_stored_ ? IsStored::kYes : IsStored::kNo};
  }

 private:
  const PackedOperand* packed_ = nullptr;  // null: neither operand is packed
  bool has_stored_ = true;
  BoundCall stored_;
};

}  // namespace rooftile
