// A product on device buffers: what it is, where its operands lie, and whether that can be.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/problem.h"
#include "generator/emit.h"
#include "runtime/context.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Where an operand starts in a buffer; no buffer: there is no such operand.
struct Place {
  const Buffer* buffer = nullptr;
  std::int64_t offset = 0;  // elements; bytes for a quantised B and its packed zero points
};

/// The same in bytes.
struct Region {
  const Buffer* buffer = nullptr;
  std::uint64_t offset_bytes = 0;
};

/// Row-major. Regions that the product does not touch have no buffer.
struct ResidentCall {
  Problem problem;
  Region a, b, c;
  Region row_scale, column_scale, bias, residual;
  std::int64_t ld_residual = 0, stride_residual = 0;
  Region scales, zero_points;
  // A or B as it was packed before; then its region may have no buffer.
  std::shared_ptr<const PackedOperand> packed = nullptr;
};

/// What a product may use besides its operands.
struct WorkspaceBound {
  Region region;            // aligned; no buffer: one of the device's own
  std::uint64_t bytes = 0;  // at most
};

/// Addresses that stand for places in buffers, so that products of device buffers have the form,
/// and pass the checks, of products of host memory. Nothing can be read there.
class PlaceAddresses {
 public:
  /// Null for no buffer. Throws kInvalidArgument for a negative offset, naming the operand.
  const void* address(const char* what, const Place& place, std::int64_t element_bytes);
  Region region(const void* address) const;

 private:
  std::vector<const Buffer*> buffers_;
};

/// call: of such addresses, as it would be of host memory. Throws kInvalidArgument, naming the
/// operand, for one that does not lie within its buffer, and what validate_call throws; values are
/// not looked at.
ResidentCall checked_resident_call(const GemmCall& call, const PlaceAddresses& addresses);

/// Where A, or B and what belongs to it, lies: into resident. Throws kInvalidArgument for what does
/// not lie within its buffer.
void locate_operand(ResidentCall& resident, const GemmCall& call, const PlaceAddresses& addresses,
                    Operand operand);

}  // namespace rooftile
