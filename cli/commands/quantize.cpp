#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "cli/gemm_files.h"
#include "cli/usage.h"
#include "core/error.h"
#include "gguf/write.h"

namespace rooftile {
namespace {

struct QuantizeArguments {
  std::string weights, output, zero_points = "none", type = "f32", format;
  int bits = 4, block = 32;
  bool trans = false;
};

constexpr const char* kTensor = "weight";

Types types_of(const QuantizeArguments& arguments) {
  if (!arguments.format.empty()) return parse_types("f32x" + arguments.format);
  Types types = {.a = parse_data_type(arguments.type),
                 .b = {.bits = arguments.bits, .block = arguments.block}};
  if (arguments.zero_points == "packed") types.b.zero_point = ZeroPoint::kPacked;
  if (arguments.zero_points == "float") types.b.zero_point = ZeroPoint::kFloat;
  if (!quantized(types))
    fail(ErrorCode::kInvalidArgument, "--bits is {}; known: 4 and 8", arguments.bits);
  validate(types);
  return types;
}

/// Three digits, rounded up.
std::string bound_text(double x) {
  std::string text = fmt::format("{:.2e}", x);
  if (std::stod(text) < x) {
    const int exponent = std::stoi(text.substr(text.find('e') + 1));
    text = fmt::format("{:.2e}", x + 0.5 * std::pow(10.0, exponent - 2));
  }
  return fmt::format("{:.3g}", std::stod(text));
}

/// Prints the largest difference to the weights, of values that are computed in float32 or in
/// float64, and the root mean square of the latter.
void print_error(const Problem& p, const QuantizedMatrix& matrix, const std::vector<float>& weights,
                 std::int64_t row_stride, std::int64_t step_stride) {
  double largest = 0, squares = 0, weights_squares = 0;
  std::vector<float> single(static_cast<std::size_t>(p.k));
  std::vector<double> row(single.size());
  for (std::int64_t j = 0; j < p.n; ++j) {
    dequantize(p, matrix.operand(), j, j + 1, single.data(), p.k);
    dequantize(p, matrix.operand(), j, j + 1, row.data(), p.k);
    for (std::size_t step = 0; step < row.size(); ++step) {
      const double weight = static_cast<double>(weights[static_cast<std::size_t>(
          j * row_stride + static_cast<std::int64_t>(step) * step_stride)]);
      const double error = row[step] - weight;
      largest = std::max(
          {largest, std::abs(error), std::abs(static_cast<double>(single[step]) - weight)});
      squares += error * error;
      weights_squares += weight * weight;
    }
  }
  const auto count = static_cast<double>(weights.size());
  fmt::print("error: at most {}; root mean square {:.3g}, {:.3g} % of that of the weights\n",
             bound_text(largest), std::sqrt(squares / count),
             weights_squares > 0 ? 100 * std::sqrt(squares / weights_squares) : 0.0);
}

/// The file to write, which must not be that of the weights. Throws kIo.
std::string output_path(const QuantizeArguments& arguments, const std::string& end) {
  std::string path = arguments.output + end;
  std::error_code ignored;
  if (std::filesystem::equivalent(path, arguments.weights, ignored))
    fail(ErrorCode::kIo, "{} is the file of the weights; name another prefix with -o", path);
  return path;
}

void write_gguf(const std::string& path, const Problem& p, const QuantizedMatrix& matrix) {
  const BlockFormat format = p.types.b.format;
  const std::vector<std::uint8_t> header = gguf_header(kTensor, format, p.n, p.k),
                                  padding = gguf_padding(matrix.values.size());
  OutputFile output(path);
  output.write(std::span(header));
  output.write(std::span(matrix.values));
  output.write(std::span(padding));
  output.commit();
  fmt::print("{}: {} {} of {} x {}\n", path, kTensor, layout_of(format).name, p.n, p.k);
}

int quantize_file(const QuantizeArguments& arguments) {
  const Types types = types_of(arguments);
  std::error_code ignored;
  if (std::filesystem::is_directory(arguments.output, ignored))
    fail(ErrorCode::kIo, "cannot write {}: it is a folder; name how the files in it shall begin",
         arguments.output);
  MatrixFile file(arguments.weights, "the matrix of weights");
  const Extent extent = file.extent(arguments.trans);
  const Problem p =
      packed_problem(1, extent.columns, extent.rows, Transpose::kNo, Transpose::kYes, 1, types);
  if (p.n == 0 || p.k == 0)
    fail(ErrorCode::kUnsupported, "{} is empty: there is nothing to quantise", arguments.weights);
  if (has_block_format(types) && p.k % types.b.block != 0)
    fail(ErrorCode::kUnsupported,
         "{} has {} {}; {} has blocks of {} values along them, and a GGUF file only whole ones",
         arguments.weights, p.k, arguments.trans ? "columns" : "rows", arguments.format,
         types.b.block);
  check_memory(arguments.weights,
               4.0 * static_cast<double>(p.n) * static_cast<double>(p.k) + minimum_bytes(p));
  const std::vector<float> weights = file.values<float>();
  // The data is n x k if either the option or Fortran order transposes it, but not if both do.
  const bool rows = arguments.trans != (file.stored() == Transpose::kYes);
  const std::int64_t row_stride = rows ? p.k : 1, step_stride = rows ? 1 : p.n;
  const auto quantized = [&] {
    try {
      return quantize(types, p.n, p.k, weights.data(), row_stride, step_stride);
    } catch (const Error& error) {  // The file's values are wrong, not the command line.
      fail(ErrorCode::kUnsupported, "{}: {}", arguments.weights, error.what());
    }
  };
  const QuantizedMatrix matrix = quantized();

  if (has_block_format(types)) {
    write_gguf(output_path(arguments, ".gguf"), p, matrix);
    print_error(p, matrix, weights, row_stride, step_stride);
    return kDone;
  }
  const std::int64_t blocks = ld_quantized(p) / types.b.block;
  const NpyType scale_type = npy_type(types.a);
  std::deque<OutputFile> outputs;  // Which are there together, or not at all.
  std::string written;
  const auto write = [&](const char* part, NpyType type, std::initializer_list<std::int64_t> shape,
                         std::span<const char> bytes) {
    const std::string path = output_path(arguments, fmt::format(".{}.npy", part));
    write_matrix(outputs.emplace_back(path), type, {shape.begin(), shape.size()}, bytes);
    written += fmt::format("{}: {} {}\n", path, numpy_name(type),
                           shape_text({shape.begin(), shape.size()}));
  };
  write("values", NpyType::kU8, {p.n, blocks, bytes_of_b(types, types.b.block)},
        {reinterpret_cast<const char*>(matrix.values.data()), matrix.values.size()});
  write("scales", scale_type, {p.n, blocks}, matrix.scales);
  if (types.b.zero_point == ZeroPoint::kPacked)
    write("zero_points", NpyType::kU8, {p.n, (blocks * types.b.bits + 7) / 8}, matrix.zero_points);
  if (types.b.zero_point == ZeroPoint::kFloat)
    write("zero_points", scale_type, {p.n, blocks}, matrix.zero_points);
  for (OutputFile& output : outputs) output.commit();
  fmt::print("{}", written);
  print_error(p, matrix, weights, row_stride, step_stride);
  return kDone;
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("quantize", "Quantise a NumPy file of weights as ONNX or GGUF files do");
  command->footer(
      "Writes PREFIX.values.npy (uint8, n x blocks x bytes of a block, low nibble\n"
      "first), PREFIX.scales.npy (n x blocks) and, with --zero-points,\n"
      "PREFIX.zero_points.npy: the inputs B, scales and zero_points of MatMulNBits.\n"
      "Values stand for (value - zero point) * scale; without zero points the middle, 8\n"
      "or 128, is zero. With --format it writes PREFIX.gguf instead, with the tensor\n"
      "`weight` of n rows.\n"
      "Examples:\n  rooftile quantize W.npy -o W --bits 4 --block 32\n"
      "  rooftile quantize W.npy -o W --format q4_k");
  static QuantizeArguments arguments;
  add_file(*command, "weights", arguments.weights, "Weights, k x n as in A * W")->required();
  add_file(*command, "-o,--output", arguments.output, "Prefix of the names of the files to write")
      ->type_name("PREFIX")
      ->required();
  std::vector<std::string> formats;
  for (const BlockLayout& layout : block_layouts()) formats.emplace_back(layout.name);
  CLI::Option* const format =
      command->add_option("--format", arguments.format, "Blocks of a GGUF file")
          ->type_name("FORMAT")
          ->check(one_of(formats));
  command->add_option("--bits", arguments.bits, "Bits of a value (default 4)")
      ->type_name("N")
      ->check(one_of({"4", "8"}))
      ->excludes(format);
  command->add_option("--block", arguments.block, "Values under one scale (default 32)")
      ->type_name("N")
      ->check(one_of({"16", "32", "64", "128", "256"}))
      ->excludes(format);
  command
      ->add_option("--zero-points", arguments.zero_points,
                   "Zero point of each block, and its form (default none)")
      ->type_name("FORM")
      ->check(one_of({"none", "packed", "float"}))
      ->excludes(format);
  command
      ->add_option("--type", arguments.type,
                   "Type of the scales, and of A: f32 or f16 (default f32)")
      ->type_name("TYPE")
      ->excludes(format);
  command->add_flag("--trans", arguments.trans,
                    "The weights are n x k, as PyTorch's Linear has them");
  command->callback([&] { action = [&] { return quantize_file(arguments); }; });
}

}  // namespace rooftile
