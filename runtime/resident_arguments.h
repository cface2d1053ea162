// The C ABI's products on device buffers as the runtime takes them.
#pragma once

#include <rooftile/rooftile.h>

#include "core/device_profile.h"
#include "runtime/resident_product.h"

namespace rooftile {

/// Of all operands, as the caller sees them: in either layout.
struct Places {
  Place a, b, c;
  Place row_scale, column_scale, bias, residual;
  Place scales, zero_points;
};

/// Of the C ABI's structures of operands, which name them alike; place makes a Place of a field.
template <typename Operands, typename PlaceOf>
Places places_of(const Operands& operands, const PlaceOf& place) {
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

/// precision: the context's, for calls whose guard names none. Throws kInvalidArgument, naming the
/// argument: pointers that are not null, operands that are not in their buffers, and whatever is
/// wrong for calls on host memory; kUnsupported for a precision that needs the host.
ResidentCall resident_call(const rooftile_gemm_args* given, const Places& places,
                           Precision precision);

/// The same of a call whose operand is to be packed. The other operand and C may have no place.
ResidentCall resident_operand(const rooftile_gemm_args* given, const Places& places,
                              Operand operand);

/// place: its offset in bytes. bytes 0: as far as the buffer goes, or a quarter of the device's
/// memory without one. Throws kInvalidArgument for what is not in the buffer, or not aligned.
WorkspaceBound workspace_bound(const Place& place, std::uint64_t bytes,
                               const DeviceProfile& device);

/// Throws kInvalidArgument for a struct_size that is none.
void describe(const ResidentProduct& product, rooftile_prepared* prepared);

}  // namespace rooftile
