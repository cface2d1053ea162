// Element-wise and reduction operations, by name, with their flops and arrays per element. Rooftile
// has no kernels for them; the model says where such a kernel would pay (docs/explain.md).
#pragma once

#include <span>
#include <string_view>

#include "runtime/model/dispatch.h"

namespace rooftile {

struct OperationKind {
  std::string_view name, what;
  /// Per element; the result of a reduction counts as nothing.
  double flops, arrays_read, arrays_written;
};
std::span<const OperationKind> operation_kinds();
/// Throws kInvalidArgument, naming the known operations.
const OperationKind& parse_operation(std::string_view name);

/// One operation on a number of elements.
struct SizedOperation {
  const OperationKind* kind = nullptr;
  double elements = 0;
  DataType type = DataType::kF32;

  Operation operation() const;
};

/// `input` and `output` are the residencies of the arrays.
OperationCall call_of(const SizedOperation& operation, Residency input, Residency output);

}  // namespace rooftile
