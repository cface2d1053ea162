#include "runtime/model/operations.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::array kKinds = {
    OperationKind{"add", "x + y", 1, 2, 1},
    OperationKind{"multiply", "x * y", 1, 2, 1},
    OperationKind{"scale", "a * x", 1, 1, 1},
    OperationKind{"fma", "a * x + b", 2, 1, 1},
    OperationKind{"relu", "max(x, 0)", 1, 1, 1},
    OperationKind{"max_pool", "largest of 3 x 3 neighbours, stride 1", 9, 1, 1},
    OperationKind{"sum", "of all elements", 1, 1, 0},
    OperationKind{"max", "of all elements", 1, 1, 0},
    OperationKind{"dot", "sum of x * y", 2, 2, 0},
    OperationKind{"sort_pass", "one pass of a radix sort", 3, 1, 1},
};

}  // namespace

std::span<const OperationKind> operation_kinds() { return kKinds; }

const OperationKind& parse_operation(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &OperationKind::name);
  if (found != kKinds.end()) return *found;
  std::string known;
  for (const OperationKind& kind : kKinds)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  fail(ErrorCode::kInvalidArgument, "unknown operation '{}'; known: {}", name, known);
}

Operation SizedOperation::operation() const {
  return elementwise(elements, kind->flops, kind->arrays_read, kind->arrays_written,
                     static_cast<double>(bytes_of(type)));
}

OperationCall call_of(const SizedOperation& operation, Residency input, Residency output) {
  const double bytes = operation.elements * static_cast<double>(bytes_of(operation.type));
  const double read = operation.kind->arrays_read * bytes,
               written = operation.kind->arrays_written * bytes;
  const bool input_here = input == Residency::kHost, output_here = output == Residency::kHost;
  return {.operation = operation.operation(),
          .upload_bytes = input_here ? read : 0,
          .download_bytes = output_here ? written : 0,
          .fetch_bytes = input_here ? 0 : read,
          .put_bytes = output_here ? 0 : written};
}

}  // namespace rooftile
