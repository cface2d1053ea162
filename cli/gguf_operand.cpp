#include "cli/gguf_operand.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/npy.h"
#include "core/error.h"

namespace rooftile {

GgufBlock readable_block(const GgufFile& file, const GgufTensor& tensor) {
  const auto block = gguf_block(tensor.format);
  if (!block)
    fail(ErrorCode::kUnsupported, "{} has tensor {} as {}, which Rooftile does not read",
         file.name(), tensor.name, format_text(tensor));
  return *block;
}

void refuse_as_output(const GgufFile& file, const std::string& output) {
  std::error_code none;  // An output that does not exist yet replaces nothing.
  if (std::filesystem::equivalent(file.name(), output, none))
    fail(ErrorCode::kInvalidArgument, "-o {}: the result would replace the GGUF file that is read",
         output);
}

namespace {

/// The place of the colon in "model.gguf:TENSOR"; npos where there is none.
std::size_t colon_of(const std::string& argument) {
  constexpr std::string_view kEnd = ".gguf";
  const std::size_t dot = argument.find(std::string(kEnd) + ":");
  return dot == std::string::npos ? dot : dot + kEnd.size();
}

}  // namespace

bool GgufOperand::is_tensor(const std::string& argument) {
  return colon_of(argument) != std::string::npos;
}

std::optional<GgufOperand> GgufOperand::open(const std::string& argument) {
  if (!is_tensor(argument)) return std::nullopt;
  const std::size_t colon = colon_of(argument);
  return GgufOperand(argument, GgufFile(argument.substr(0, colon)), argument.substr(colon + 1));
}

GgufOperand::GgufOperand(std::string argument, GgufFile file, const std::string& tensor)
    : argument_(std::move(argument)), file_(std::move(file)), tensor_(file_.tensor(tensor)) {
  readable_block(file_, tensor_);
  if (tensor_.sizes.size() != 2)
    fail(ErrorCode::kUnsupported, "{} has the shape {}; a matrix has two dimensions", argument_,
         shape_text(tensor_.sizes));
}

Types GgufOperand::types(DataType a) const {
  const BlockFormat format = block_format(tensor_.format);
  if (format == BlockFormat::kSeparate) return {};
  const DataType floats = is_8_bit(a) ? DataType::kF32 : a;
  return {.a = floats, .b = quantization_of(format), .c = floats};
}

std::vector<char> GgufOperand::elements() const {
  const std::span<const std::uint8_t> blocks = file_.blocks(tensor_);
  if (has_block_format(types(DataType::kF32))) return {blocks.begin(), blocks.end()};
  const auto count = static_cast<std::size_t>(tensor_.rows() * tensor_.row());
  std::vector<char> bytes(count * sizeof(float));
  // Storage of a vector is aligned for every type.
  dequantize(tensor_.format, blocks, {reinterpret_cast<float*>(bytes.data()), count});
  return bytes;
}

}  // namespace rooftile
