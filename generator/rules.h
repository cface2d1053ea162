// Which points of the kernel space are legal, and why not. Rules are data: a reason and a predicate
// (device_rules.cpp, signature_rules.cpp, problem_rules.cpp).
#pragma once

#include <optional>
#include <string>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

/// Where the operands of a call lie. Offsets in elements from the start of the bound buffer;
/// readable_*: elements that may be read from the offset on (vector loads at the end of the last
/// row may touch a few more than the matrix).
struct Placement {
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0;
  std::int64_t readable_a = 0, readable_b = 0;
  // Of the epilogue's vectors in their common buffer, and of the residual in its own.
  std::int64_t offset_row_scale = 0, offset_column_scale = 0, offset_bias = 0;
  std::int64_t offset_residual = 0, ld_residual = 0, stride_residual = 0;
};
/// Operands in buffers of our own: offset 0, and the last row padded to whole 16-byte vectors. The
/// epilogue's vectors lie one behind the other.
Placement own_buffers(const Problem& p);

/// Elements from the start of each binding that the kernels touch (a packed operand: its pack
/// kernel). A caller binds at least these, and the limits on storage and texel buffers are checked
/// against these.
struct BoundElements {
  std::int64_t a, b, c;
};
/// Elements of the epilogue's buffers as own_buffers() lays them out; 0: not used.
struct EpilogueElements {
  std::int64_t vectors, residual;
};
EpilogueElements epilogue_elements(const Problem& p);

BoundElements bound_elements(const Variant& v, const Problem& p, const Placement& placement);

/// First reason why the variant can never run on a device with these limits, or nothing.
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits);
/// First reason why it cannot be compiled for these types, transposes and epilogue (the device's
/// reasons included), or nothing.
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Signature& s);
/// First reason why it cannot run this problem (those of its signature included), or nothing.
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Problem& p, const Placement& placement);

/// Shared memory of a workgroup, for whichever transposes need most. Only that of matrix depends on
/// the types.
std::int64_t shared_bytes(const Variant& v, const Types& types = {});

/// Elements that a load of A, and of B, as stored takes at once: what offsets, ld and strides must
/// be multiples of.
struct LoadElements {
  int a, b;
};
LoadElements load_elements(const Variant& v, const Signature& s);

/// What ld must be multiples of: tensors have rows of any length, unless the kernel is for whole
/// tiles.
LoadElements line_elements(const Variant& v, const Signature& s);

/// Whether these are matrix units for the shape and workgroup of a kernel of workgroup scope.
bool has_unit(const Variant& v, const WorkgroupMatrix& matrix, std::uint32_t longest);
/// Shared memory that the driver leaves to this kernel.
std::int64_t shared_bytes_left(const Variant& v, const DeviceLimits& limits);

/// Whether a matrix kernel is built for this shape, or for a multiple of it whose sides are not
/// longer than this.
bool has_shape(const Variant& v, const MatrixShape& shape);
bool has_multiple(const Variant& v, const MatrixShape& unit, std::uint32_t longest);

}  // namespace rooftile
