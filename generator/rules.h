// Which points of the kernel space are legal, and why others are not. Rules are data: each is a
// reason and a predicate (device_rules.cpp, signature_rules.cpp, problem_rules.cpp). All functions
// are pure.
#pragma once

#include <optional>
#include <string>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "generator/sums_in.h"

namespace rooftile {

/// Where the operands of a call lie in their buffers. Offsets are in elements from the start of the
/// bound buffer. readable_a and readable_b count the elements that may be read from the offset on:
/// vector loads at the end of the last row may read a few more than the matrix.
struct Placement {
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0;
  std::int64_t readable_a = 0, readable_b = 0;
  // Offsets of the epilogue's vectors in their common buffer, and of the residual in its own.
  std::int64_t offset_row_scale = 0, offset_column_scale = 0, offset_bias = 0;
  std::int64_t offset_residual = 0, ld_residual = 0, stride_residual = 0;
  // Of a grouped problem: elements from an expert's vectors of columns (scale, bias) to the next
  // one's; 0: all experts share them.
  std::int64_t expert_columns = 0;

  bool operator==(const Placement&) const = default;
};
/// The placement in buffers that the runtime allocates: offset 0, the last row padded to whole
/// vectors of 16 bytes, and the epilogue's vectors one behind the other.
Placement own_buffers(const Problem& p);

/// Elements from the start of each binding that the kernels access; of a packed operand, those that
/// its pack kernel accesses. A caller binds at least these, and the rules check them against the
/// limits on storage and texel buffers.
struct BoundElements {
  std::int64_t a, b, c;
};
/// Elements of the epilogue's buffers in the placement of own_buffers(); 0: the buffer is not used.
struct EpilogueElements {
  std::int64_t vectors, residual;
};
EpilogueElements epilogue_elements(const Problem& p);

BoundElements bound_elements(const Variant& v, const Problem& p, const Placement& placement);

/// The first reason why the variant can never run on a device with these limits, or nothing.
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits);
/// The first reason why it cannot be compiled for these types, transposes and epilogue, or nothing.
/// It includes the reasons of the device.
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Signature& s);
/// The first reason why it cannot run this problem, or nothing. It includes the reasons of the
/// signature (of sums_signature() with sums in a workspace).
std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Problem& p, const Placement& placement,
                                          SumsIn sums = SumsIn::kC);

/// Bytes of shared memory of a workgroup. Only those of matrix depend on the signature.
std::int64_t shared_bytes(const Variant& v, const Signature& s = {});

/// Elements that one load of A and of B reads as stored. Offsets, ld and strides must be multiples
/// of them.
struct LoadElements {
  int a, b;
};
LoadElements load_elements(const Variant& v, const Signature& s);

/// Elements that ld must be a multiple of. Tensors have rows of any length, unless the kernel is
/// for whole tiles.
LoadElements line_elements(const Variant& v, const Signature& s);

/// Whether these matrix units support the shape and the workgroup of a kernel with workgroup scope.
bool has_unit(const Variant& v, const WorkgroupMatrix& matrix, std::uint32_t longest);
/// Bytes of shared memory that the driver leaves to this kernel.
std::int64_t shared_bytes_left(const Variant& v, const DeviceLimits& limits);

/// Whether a matrix kernel is built for this shape, or for a multiple of it with sides of at most
/// longest.
bool has_shape(const Variant& v, const MatrixShape& shape);
bool has_multiple(const Variant& v, const MatrixShape& unit, std::uint32_t longest);

}  // namespace rooftile
