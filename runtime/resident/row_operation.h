// What a list does to matrices on the device between its GEMMs: its checks and its step.
#pragma once

#include <cstdint>

#include "core/epilogue.h"
#include "runtime/kernel/shader_cache.h"
#include "runtime/resident/row_binder.h"

namespace rooftile {

/// y := softmax(scale * x) of each row.
struct SoftmaxCall {
  std::int64_t rows = 0, columns = 0, batch = 1;
  RowMatrices x, y;
  float scale = 1;
  /// Row i uses the columns 0 to i + causal_offset only, and the others become 0.
  bool causal = false;
  std::int64_t causal_offset = 0;
};

/// z := activation(x) * y, element by element.
struct MultiplyCall {
  std::int64_t rows = 0, columns = 0;
  Activation activation = Activation::kNone;
  RowMatrices x, y, z;
};

/// Binds a call whose shader is compiled. Throw kInvalidArgument, naming the matrix, for sizes and
/// leading dimensions that do not fit together, for a matrix outside its buffer, and for a result
/// that overlaps an operand without being it; kUnsupported beyond 32-bit addresses or the device's
/// largest binding.
RowOperation row_operation(const SoftmaxCall& call, std::shared_ptr<const Pipeline> softmax,
                           const DeviceLimits& limits);
RowOperation row_operation(const MultiplyCall& call, std::shared_ptr<const Pipeline> multiply,
                           const DeviceLimits& limits);

/// Compiles a shader of generator/emit_rows.h. Throws what compilation throws.
std::shared_ptr<const Pipeline> compiled(Device& device, const Shader& shader,
                                         const ShaderCache& cache);

}  // namespace rooftile
