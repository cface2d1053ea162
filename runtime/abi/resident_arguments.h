// Conversion of the C ABI's calls on device buffers to the runtime's types.
#pragma once

#include <rooftile/rooftile.h>

#include "core/device_profile.h"
#include "runtime/resident/resident_product.h"

namespace rooftile {

/// The slots of all operands, as the caller sees them, in either layout.
struct OperandSlots {
  OperandSlot a, b, c;
  OperandSlot row_scale, column_scale, bias, residual;
  OperandSlot scales, zero_points;
};

/// Converts the C ABI's operand structures, which use the same field names. `place` converts a
/// field to an OperandSlot.
template <typename Operands, typename OperandSlotOf>
OperandSlots operand_slots_of(const Operands& operands, const OperandSlotOf& place) {
  return {.a = place(operands.a),
          .b = place(operands.b),
          .c = place(operands.c),
          .row_scale = place(operands.row_scale),
          .column_scale = place(operands.column_scale),
          .bias = place(operands.bias),
          .residual = place(operands.residual),
          .scales = place(operands.scales),
          .zero_points = place(operands.zero_points)};
}

/// `precision` is the context's, for calls whose guard sets none. Throws kInvalidArgument, naming
/// the argument, for pointers that are not null, for operands outside their buffers, and for
/// everything that is illegal for calls on host memory; kUnsupported for a precision that needs the
/// host.
ResidentCall resident_call(const rooftile_gemm_args* given, const OperandSlots& places,
                           Precision precision);

/// Same as above for a call with this grouping (checked_grouped_call); `groups` describes it.
ResidentCall resident_grouped_call(const rooftile_gemm_args* given, const OperandSlots& places,
                                   Precision precision, const Grouping& grouping,
                                   std::int64_t expert_columns,
                                   std::shared_ptr<const ResidentGroups> groups);

/// The B of a grouped call that is to be packed. A and C may have no place.
ResidentCall resident_experts(const rooftile_gemm_args* given, const OperandSlots& places,
                              const Grouping& grouping);

/// Same as above for a call whose operand is to be packed. The other operand and C may have no
/// place.
ResidentCall resident_operand(const rooftile_gemm_args* given, const OperandSlots& places,
                              Operand operand);

/// `place` has its offset in bytes. bytes == 0 means up to the end of the buffer, or without a
/// buffer a quarter of the device's memory. Throws kInvalidArgument for a workspace that exceeds
/// the buffer or is not aligned.
WorkspaceBound workspace_bound(const OperandSlot& place, std::uint64_t bytes,
                               const DeviceProfile& device);

/// Throws kInvalidArgument for an illegal struct_size.
void describe(const ResidentProduct& product, rooftile_prepared* prepared);

}  // namespace rooftile
