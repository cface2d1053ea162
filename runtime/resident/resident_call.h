// A call on device buffers: its problem, the places of its operands, and its checks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/groups.h"
#include "core/problem.h"
#include "generator/emit.h"
#include "runtime/call/call.h"
#include "runtime/device/device.h"

namespace rooftile {

/// Start of an operand in a buffer. No buffer: the operand is absent.
struct OperandSlot {
  const Buffer* buffer = nullptr;
  std::int64_t offset = 0;  ///< In elements; in bytes for a quantised B and its packed zero points.
};

/// Start of an operand, in bytes.
struct Region {
  const Buffer* buffer = nullptr;
  std::uint64_t offset_bytes = 0;
};

/// The groups of a grouped call: sizes that the host knows, or places where the device has them.
struct ResidentGroups {
  std::vector<Group> known;  ///< Valid; used if `sizes` has no buffer.
  Region sizes = {};         ///< 32-bit integers, aligned as bindings are.
  Region experts = {};       ///< The same. No buffer: group i has expert i.
  Region status = {};        ///< One 32-bit integer, aligned. No buffer: nobody wants to know.

  bool on_device() const { return sizes.buffer != nullptr; }
};

/// Row-major. Regions that the call does not touch have no buffer.
struct ResidentCall {
  Problem problem;
  Region a, b, c;
  Region row_scale, column_scale, bias, residual;
  std::int64_t ld_residual = 0, stride_residual = 0;
  std::int64_t expert_columns = 0;  ///< EpilogueOperands::expert_columns
  Region scales, zero_points;
  /// A or B as it was packed before; then its region may have no buffer.
  std::shared_ptr<const PackedOperand> packed = nullptr;
  std::shared_ptr<const ResidentGroups> groups = nullptr;  ///< Not null for a grouped problem.
};

/// What a call may use besides its operands.
struct WorkspaceBound {
  Region region;            ///< Aligned. No buffer: the call uses a workspace of the device.
  std::uint64_t bytes = 0;  ///< Upper limit.
};

/// Maps places in buffers to addresses, so that calls on device buffers can be checked in the form
/// of calls on host memory. The addresses cannot be read.
class OperandAddresses {
 public:
  /// Returns null for no buffer. Throws kInvalidArgument for a negative offset, naming the operand.
  const void* address(const char* what, const OperandSlot& place, std::int64_t element_bytes);
  Region region(const void* address) const;

 private:
  std::vector<const Buffer*> buffers_;
};

/// Checks a call whose pointers are such addresses. Throws kInvalidArgument, naming the operand,
/// for an operand outside its buffer, and what validate_call throws. Values are not read.
ResidentCall checked_resident_call(const GemmCall& call, const OperandAddresses& addresses);

/// Stores the region of A, or of B with its scales and zero points, in `resident`. Throws
/// kInvalidArgument for an operand outside its buffer.
void locate_operand(ResidentCall& resident, const GemmCall& call, const OperandAddresses& addresses,
                    Operand operand);

}  // namespace rooftile
