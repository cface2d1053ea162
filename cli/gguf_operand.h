// A tensor of a GGUF file as the operand B of a product.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "gguf/mapped_file.h"

namespace rooftile {

/// Weights W of A * W^T.
class GgufOperand {
 public:
  /// argument: "model.gguf:TENSOR". No value where it is not of this form. Errors:
  /// kInvalidArgument (no such tensor), kUnsupported (no matrix, or a format that is not read),
  /// kIo.
  static std::optional<GgufOperand> open(const std::string& argument);

  /// Whether the argument is of that form.
  static bool is_tensor(const std::string& argument);

  const std::string& argument() const { return argument_; }
  const GgufFile& file() const { return file_; }
  Extent extent() const { return {tensor_.rows(), tensor_.row()}; }
  /// Types of a product with an A of this type: B is multiplied as it lies in the file where it has
  /// blocks, and is otherwise widened to float32, whatever A is.
  Types types(DataType a) const;
  /// B as these types say; float32 in C order.
  std::vector<char> elements() const;

 private:
  GgufOperand(std::string argument, GgufFile file, const std::string& tensor);

  std::string argument_;
  GgufFile file_;
  GgufTensor tensor_;
};

/// Throws kUnsupported where Rooftile does not read the tensor's format.
GgufBlock readable_block(const GgufFile& file, const GgufTensor& tensor);

/// Throws kInvalidArgument where a result would replace the file that it comes from: other than a
/// matrix, a model is more than this command could write again.
void refuse_as_output(const GgufFile& file, const std::string& output);

}  // namespace rooftile
