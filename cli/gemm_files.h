// Reads the operands of a GEMM from .npy files, and writes its result.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/gguf_operand.h"
#include "cli/npy.h"
#include "cli/output_file.h"
#include "core/quantized.h"

namespace rooftile {

/// A file that holds a matrix. Fortran order is treated as the transposed matrix in C order.
class MatrixFile {
 public:
  MatrixFile(const std::string& path, const char* operand);

  NpyType type() const { return reader_.header().type; }
  const std::string& path() const { return path_; }
  Transpose stored() const;
  Extent extent() const;
  /// Extent of op(X), where `transposed` tells whether op transposes the matrix.
  Extent extent(bool transposed) const;
  template <typename Real>
  std::vector<Real> values() {
    std::vector<Real> result(static_cast<std::size_t>(element_count(reader_.header())));
    reader_.read(std::span<Real>(result));
    return result;
  }
  /// Elements converted to `type`, which is not wider than the file's type.
  std::vector<char> elements(DataType type);

 private:
  std::string path_;
  NpyReader reader_;
};

struct GemmFiles {
  std::string a, b, c;              // b: also "model.gguf:TENSOR".
  std::string scales, zero_points;  // Empty where B is not quantised.
  int bits = 0;                     // Bits of a quantised value; 0: told by the files' shapes.
  std::string type_c;               // Empty: the type that NumPy would choose for A and B.
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 0;  // Rounded to float32 but for float64.
};

/// Open files with matching shapes, and the problem that they describe.
struct GemmInputs {
  MatrixFile a;
  std::optional<MatrixFile> b, c;
  std::optional<GgufOperand> weights;                    // B as a tensor of a GGUF file
  std::optional<NpyReader> values, scales, zero_points;  // of a quantised B
  Problem problem;
};
/// Errors: kInvalidArgument, kUnsupported (shapes, types), kIo; kOutOfMemory, before anything is
/// read, for operands that do not fit into memory.
GemmInputs open_inputs(const GemmFiles& files);

/// Operands in host memory.
struct HostProduct {
  Problem problem;
  std::vector<char> a, b, c, scales, zero_points;
};
HostProduct load(GemmInputs& inputs);

/// C in row-major order, whatever order its file has; zeros when there is no file.
template <typename Real>
std::vector<Real> initial_c(GemmInputs& inputs) {
  const Problem& p = inputs.problem;
  const auto rows = static_cast<std::size_t>(p.m), columns = static_cast<std::size_t>(p.n);
  if (!inputs.c) return std::vector<Real>(rows * columns);
  std::vector<Real> c = inputs.c->values<Real>();
  if (inputs.c->stored() == Transpose::kNo) return c;
  std::vector<Real> in_order(c.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) in_order[i * columns + j] = c[j * rows + i];
  return in_order;
}

/// Throws kOutOfMemory when `bytes` exceed the available memory. Linux allocates more memory than
/// it has and kills the process that uses it. what: name of the data for the message.
void check_memory(std::string_view what, double bytes);

/// Type of the file that holds elements of `type`.
NpyType npy_type(DataType type);
/// Writes elements in C order.
void write_matrix(OutputFile& file, NpyType type, std::span<const std::int64_t> shape,
                  std::span<const char> elements);

}  // namespace rooftile
