// From .npy files to the operands of a product, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/npy.h"
#include "cli/output_file.h"
#include "core/quantized.h"

namespace rooftile {

/// A file that holds a matrix; Fortran order is the transposed matrix in C order.
class MatrixFile {
 public:
  /// advice: as NpyReader has it.
  MatrixFile(const std::string& path, const char* operand, std::string_view advice = {});

  NpyType type() const { return reader_.header().type; }
  const std::string& path() const { return path_; }
  Transpose stored() const;
  Extent extent() const;
  /// Of op(X) for a matrix that is to be used transposed.
  Extent extent(bool transposed) const;
  template <typename Real>
  std::vector<Real> values() {
    std::vector<Real> result(static_cast<std::size_t>(element_count(reader_.header())));
    reader_.read(std::span<Real>(result));
    return result;
  }
  /// Elements in a product's type, which a file of wider ones is converted to.
  std::vector<char> elements(DataType type);

 private:
  std::string path_;
  NpyReader reader_;
};

struct GemmFiles {
  std::string a, b, c;
  std::string scales, zero_points;  // of a quantised B; empty: B is a matrix
  std::string type_c;               // empty: what NumPy would make of A and B
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 0;
};

/// Open files whose shapes fit together, and the product that they are.
struct GemmInputs {
  MatrixFile a;
  std::optional<MatrixFile> b, c;
  std::optional<NpyReader> values, scales, zero_points;  // of a quantised B
  Problem problem;
};
/// Errors: kInvalidArgument, kUnsupported (shapes, types), kIo, kOutOfMemory for a product that
/// does not fit into memory: before anything of it is read.
GemmInputs open_inputs(const GemmFiles& files);

/// Operands as they lie in memory.
struct HostProduct {
  Problem problem;
  std::vector<char> a, b, c, scales, zero_points;
};
HostProduct load(GemmInputs& inputs);

/// C in the order of the rows, whatever order its file has; zeros when there is none.
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

/// Linux promises memory that it does not have and kills who uses it: better to look before.
/// what: that takes so many bytes, for the message.
void check_memory(std::string_view what, double bytes);

/// The file of a type's elements.
NpyType npy_type(DataType type);
/// Writes rows x columns elements in C order and lets the file appear.
void write_matrix(OutputFile& file, NpyType type, std::span<const std::int64_t> shape,
                  std::span<const char> elements);

}  // namespace rooftile
