// A matrix operand in the layouts that a device's kernels read, made once and used by many calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "generator/packed_format.h"
#include "runtime/call/call.h"
#include "runtime/support/names.h"

namespace rooftile {

class Device;
struct DeviceMemory;

/// What every call with a packed operand has to agree with, in row-major terms.
struct PackedShape {
  Operand operand = Operand::kB;
  DataType type = DataType::kF32;  // of A and of a B that is not quantised
  Quantization quantization = {};  // of B
  Transpose transpose = Transpose::kNo;
  std::int64_t rows = 0, columns = 0;  // of op(A), m x k, or of op(B), k x n
  std::int64_t experts = 0;            // that B has; 0: B of a call that is not grouped

  bool operator==(const PackedShape&) const = default;
};
PackedShape shape_of(const Problem& p, Operand operand);
/// "B of 64 x 33 f32, transposed": as the caller sees it, in either layout.
std::string to_string(const PackedShape& shape, Layout layout);

/// One of the layouts that the operand is kept in.
struct PackedForm {
  std::optional<PackedFormat> panels = {};  // nothing: as stored
  std::int64_t ld = 0;                      // as stored: elements
  std::shared_ptr<DeviceMemory> values = nullptr;
  std::shared_ptr<DeviceMemory> scales = nullptr, zero_points = nullptr;  // of a quantised B
};

/// Immutable once made, and therefore thread-safe.
struct PackedOperand {
  std::uint64_t id = next_name();  // decisions about calls with the operand are kept under it
  PackedShape shape;
  std::uint64_t context = 0;       // Context::id()
  std::shared_ptr<Device> device;  // null: no device computes with it
  std::vector<PackedForm> forms;   // each once
  std::string kernel;              // short name of the one for the first expected size, or ""
  /// The kernel that reads the panels of experts, and the time of its operations in ns.
  struct ExpertsKernel {
    Variant variant;
    double ns_per_flop = 0;
  };
  std::optional<ExpertsKernel> experts_kernel = {};

  const PackedForm* stored() const;  // null: it is kept as panels only
  /// The panels that this kernel reads; null when it reads none, or none of these.
  const PackedForm* panels_for(const Variant& v, const Problem& p) const;
};

/// Throws kInvalidArgument, naming both, for a call whose operand has another shape, or is a matrix
/// of its own for each product of a batch.
void check_packed(const PackedOperand& packed, const GemmCall& call, Layout layout);

/// Whether the call needs an operand of which it gives the packed copy alone.
bool gives_only_packed(const GemmCall& call);
/// The same call for kernels that read the operand itself. Calls with a packed operand are not
/// divided over devices, so that this one asks for one.
GemmCall without_packed(const GemmCall& call);
/// Whether the call has the operand besides the packed one, or needs none.
bool has_operand(const GemmCall& call, Operand operand);

}  // namespace rooftile
