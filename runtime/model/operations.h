// Element-wise and reduction operations, by name: what they do and move for each element. Rooftile
// has no kernels for them; the model says where such a kernel would pay (docs/explain.md).
#pragma once

#include <span>
#include <string_view>

#include "runtime/model/dispatch.h"

namespace rooftile {

struct OperationKind {
  std::string_view name, what;
  double flops, arrays_read, arrays_written;  // for each element; a reduction's result is nothing
};
std::span<const OperationKind> operation_kinds();
/// Throws kInvalidArgument, naming those that there are.
const OperationKind& parse_operation(std::string_view name);

/// One operation on so many elements.
struct SizedOperation {
  const OperationKind* kind = nullptr;
  double elements = 0;
  DataType type = DataType::kF32;

  Operation operation() const;
};

/// input, output: where the arrays lie.
OperationCall call_of(const SizedOperation& operation, Residency input, Residency output);

}  // namespace rooftile
