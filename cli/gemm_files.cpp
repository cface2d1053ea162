#include "cli/gemm_files.h"

#include "core/error.h"
#include "core/half.h"
#include "tuner/measure/available_memory.h"

namespace rooftile {
namespace {

Transpose combined(bool asked, Transpose stored) {
  return asked == (stored == Transpose::kYes) ? Transpose::kNo : Transpose::kYes;
}

/// The type in which a file's elements are multiplied.
DataType operand_type(NpyType type) {
  switch (type) {
    case NpyType::kF16:
      return DataType::kF16;
    case NpyType::kI8:
      return DataType::kI8;
    case NpyType::kU8:
      return DataType::kU8;
    case NpyType::kF64:
      return DataType::kF64;
    default:
      return DataType::kF32;
  }
}

/// The same beside quantised weights.
DataType type_beside_weights(NpyType type) {
  return type == NpyType::kF64 ? DataType::kF32 : operand_type(type);
}

void check_multipliable(const MatrixFile& file) {
  if (file.type() == NpyType::kI32)
    fail(ErrorCode::kUnsupported,
         "{} holds {}: floats, int8 and uint8 can be multiplied; convert with "
         "a.astype(numpy.float32)",
         file.path(), numpy_name(file.type()));
}

/// Type for matrices A and B: float64 when a file has it, float16, int8 or uint8 when both have it,
/// else float32.
Types types_of(const MatrixFile& a, const MatrixFile& b) {
  const DataType type_a = operand_type(a.type()), type_b = operand_type(b.type());
  if (type_a == DataType::kF64 || type_b == DataType::kF64) return parse_types("f64");
  if (type_a != type_b) return {};
  return {.a = type_a, .c = is_8_bit(type_a) ? DataType::kI32 : type_a};
}

std::string shape_of(const NpyReader& file) { return shape_text(file.header().shape); }

/// Quantisation that B's files describe: bytes of a block, type of the scales, kind of zero points.
/// bits: 4, 8, or 0 for what the shape says.
Types quantized_types(const MatrixFile& a, const NpyReader& values, const NpyReader& scales,
                      const std::optional<NpyReader>& zero_points, std::int64_t k, int bits) {
  const std::vector<std::int64_t>& shape = values.header().shape;
  if (values.header().type != NpyType::kU8 || shape.size() != 3)
    fail(ErrorCode::kUnsupported,
         "{} is {} of shape {}; quantised values are uint8 of shape (n, blocks, bytes of a block)",
         values.name(), numpy_name(values.header().type), shape_of(values));
  Types types = {.a = type_beside_weights(a.type())};
  const DataType type_scales = type_beside_weights(scales.header().type);
  if (type_scales != types.a)
    fail(ErrorCode::kUnsupported, "the scales {} are {}, but A ({}) is {}: they have A's type",
         scales.name(), numpy_name(scales.header().type), a.path(), numpy_name(a.type()));
  types.c = types.a;
  if (zero_points)
    types.b.zero_point =
        zero_points->header().type == NpyType::kU8 ? ZeroPoint::kPacked : ZeroPoint::kFloat;
  // Blocks of 4-bit and 8-bit values may have the same size. Their number tells them apart, unless
  // k fits into one block of 4-bit values and into one of 8-bit values.
  const auto fits = [&](int of_bits) {
    const std::int64_t block = shape[2] * 8 / of_bits;
    return (bits == 0 || bits == of_bits) && block >= 16 && block <= 256 &&
           (k + block - 1) / block == shape[1];
  };
  if (!fits(4) && !fits(8))
    fail(ErrorCode::kUnsupported,
         "{} has shape {}, which no blocks of 16 to 256 values of {} bits make of k = {} (A is {})",
         values.name(), shape_of(values), bits == 0 ? "4 or 8" : std::to_string(bits), k, a.path());
  if (fits(4) && fits(8))
    fail(ErrorCode::kUnsupported,
         "{} has shape {}: {} values of 4 bits or {} of 8 bits a block; say which with --bits",
         values.name(), shape_of(values), 2 * shape[2], shape[2]);
  types.b.bits = fits(4) ? 4 : 8;
  types.b.block = static_cast<int>(shape[2] * 8 / types.b.bits);
  validate(types);
  return types;
}

void check_elements(const NpyReader& file, std::string_view what, std::int64_t bytes) {
  if (data_bytes(file.header()) != static_cast<std::uint64_t>(bytes))
    fail(ErrorCode::kUnsupported, "{} has shape {} ({} bytes), but the {} of B need {} bytes",
         file.name(), shape_of(file), data_bytes(file.header()), what, bytes);
}

void open_quantized(GemmInputs& inputs, const GemmFiles& files, Extent a) {
  inputs.values.emplace(files.b);
  inputs.scales.emplace(files.scales);
  if (!files.zero_points.empty()) inputs.zero_points.emplace(files.zero_points);
  if (files.trans_b)
    fail(ErrorCode::kInvalidArgument, "--trans-b: quantised values are n x k already");
  const Types types = quantized_types(inputs.a, *inputs.values, *inputs.scales, inputs.zero_points,
                                      a.columns, files.bits);
  inputs.problem =
      packed_problem(a.rows, inputs.values->header().shape[0], a.columns,
                     combined(files.trans_a, inputs.a.stored()), Transpose::kYes, 1, types);
  const QuantizedBytes bytes = quantized_bytes(inputs.problem);
  check_elements(*inputs.scales, "scales", bytes.scales);
  if (inputs.zero_points) check_elements(*inputs.zero_points, "zero points", bytes.zero_points);
}

void check_inner_sizes(Extent a, const GemmFiles& files, Extent b) {
  if (a.columns != b.rows)
    fail(ErrorCode::kUnsupported,
         "op(A) is {} x {} ({}), op(B) is {} x {} ({}): the inner sizes differ", a.rows, a.columns,
         files.a, b.rows, b.columns, files.b);
}

void open_weights(GemmInputs& inputs, const GemmFiles& files, Extent a) {
  if (files.trans_b)
    fail(ErrorCode::kInvalidArgument,
         "--trans-b: a tensor of a GGUF file is n x k, and A * W^T is computed already");
  const Extent w = inputs.weights->extent();
  check_inner_sizes(a, files, {w.columns, w.rows});
  inputs.problem = packed_problem(a.rows, w.rows, a.columns,
                                  combined(files.trans_a, inputs.a.stored()), Transpose::kYes, 1,
                                  inputs.weights->types(type_beside_weights(inputs.a.type())));
}

}  // namespace

MatrixFile::MatrixFile(const std::string& path, const char* operand) : path_(path), reader_(path) {
  const NpyHeader& header = reader_.header();
  if (header.shape.size() != 2)
    fail(ErrorCode::kUnsupported, "{}: {} has the shape {}; a matrix has two dimensions ({})", path,
         operand, shape_text(header.shape),
         header.type == NpyType::kU8 && header.shape.size() == 3
             ? "values of a quantised B need their --scales"
             : "reshape a vector to (1, n) or (n, 1)");
}

Transpose MatrixFile::stored() const {
  return reader_.header().order == ArrayOrder::kFortran ? Transpose::kYes : Transpose::kNo;
}
Extent MatrixFile::extent() const { return {reader_.header().shape[0], reader_.header().shape[1]}; }
Extent MatrixFile::extent(bool transposed) const {
  const Extent e = extent();
  return transposed ? Extent{e.columns, e.rows} : e;
}

std::vector<char> MatrixFile::elements(DataType wanted) {
  if (npy_type(wanted) == type()) return reader_.read_bytes();
  const auto converted = [&](const auto& wide) {
    std::vector<char> bytes(wide.size() * static_cast<std::size_t>(bytes_of(wanted)));
    narrow(wanted, wide.data(), bytes.data(), static_cast<std::int64_t>(wide.size()));
    return bytes;
  };
  return wanted == DataType::kF64 ? converted(values<double>()) : converted(values<float>());
}

void check_memory(std::string_view what, double bytes) {
  const double available = available_memory_bytes();
  if (bytes > available)
    fail(ErrorCode::kOutOfMemory,
         "{} takes {:.3g} GB and {:.3g} GB of memory are available; split the matrices into "
         "several files",
         what, bytes * 1e-9, available * 1e-9);
}

GemmInputs open_inputs(const GemmFiles& files) {
  if (files.c.empty() && files.beta != 0)
    fail(ErrorCode::kInvalidArgument, "--beta {} needs --c FILE", files.beta);
  if (files.scales.empty() && !files.zero_points.empty())
    fail(ErrorCode::kInvalidArgument, "--zero-points needs --scales");
  if (GgufOperand::is_tensor(files.a))
    fail(ErrorCode::kInvalidArgument,
         "{}: a tensor of a GGUF file is B; A is a .npy file (`rooftile gguf --tensor` writes one)",
         files.a);
  GemmInputs inputs = {.a = {files.a, "A"}, .b = {}, .c = {}, .weights = {}, .problem = {}};
  check_multipliable(inputs.a);
  const Extent a = inputs.a.extent(files.trans_a);
  inputs.weights = GgufOperand::open(files.b);
  if (inputs.weights && !files.scales.empty())
    fail(ErrorCode::kInvalidArgument, "--scales: a tensor of a GGUF file has its own");
  if (inputs.weights) {
    open_weights(inputs, files, a);
  } else if (!files.scales.empty()) {
    open_quantized(inputs, files, a);
  } else {
    inputs.b.emplace(files.b, "B");
    check_multipliable(*inputs.b);
    const Extent b = inputs.b->extent(files.trans_b);
    check_inner_sizes(a, files, b);
    inputs.problem = packed_problem(
        a.rows, b.columns, a.columns, combined(files.trans_a, inputs.a.stored()),
        combined(files.trans_b, inputs.b->stored()), 1, types_of(inputs.a, *inputs.b));
  }
  Problem& p = inputs.problem;
  if (!files.type_c.empty()) p.types.c = parse_data_type(files.type_c);
  if (is_float64(p.types) != (p.types.c == DataType::kF64))
    fail(ErrorCode::kInvalidArgument,
         "--type-c {}: float64 files give f64, and no others do; convert them with "
         "a.astype(numpy.{})",
         files.type_c, is_float64(p.types) ? "float32" : "float64");
  if (p.types.c == DataType::kBf16)
    fail(ErrorCode::kInvalidArgument, "--type-c bf16: NumPy has no bfloat16; f32 or f16");
  p.alpha = scalar_of(p.types, files.alpha);
  p.beta = scalar_of(p.types, files.beta);
  check_memory(to_string(p), minimum_bytes(p));  // With beta, the old and the new C are in memory.
  validate(p);
  if (files.c.empty()) return inputs;
  inputs.c.emplace(files.c, "C");
  const Extent c = inputs.c->extent();
  if (c.rows != p.m || c.columns != p.n)
    fail(ErrorCode::kUnsupported, "C is {} x {} ({}), the product is {} x {}", c.rows, c.columns,
         files.c, p.m, p.n);
  return inputs;
}

HostProduct load(GemmInputs& inputs) {
  const Problem& p = inputs.problem;
  HostProduct product = {.problem = p,
                         .a = inputs.a.elements(p.types.a),
                         .b = {},
                         .c = {},
                         .scales = {},
                         .zero_points = {}};
  if (inputs.values) {
    product.b = inputs.values->read_bytes();
    product.scales = inputs.scales->read_bytes();
    if (inputs.zero_points) product.zero_points = inputs.zero_points->read_bytes();
  } else if (inputs.weights) {
    product.b = inputs.weights->elements();
  } else {
    product.b = inputs.b->elements(p.types.a);
  }
  const auto fill_c = [&](const auto& c) {
    product.c.resize(c.size() * static_cast<std::size_t>(bytes_of(p.types.c)));
    narrow(p.types.c, c.data(), product.c.data(), static_cast<std::int64_t>(c.size()));
  };
  if (is_float64(p.types))
    fill_c(initial_c<double>(inputs));
  else
    fill_c(initial_c<float>(inputs));
  return product;
}

NpyType npy_type(DataType type) {
  switch (type) {
    case DataType::kF16:
      return NpyType::kF16;
    case DataType::kI8:
      return NpyType::kI8;
    case DataType::kU8:
      return NpyType::kU8;
    case DataType::kI32:
      return NpyType::kI32;
    case DataType::kF32:
      return NpyType::kF32;
    case DataType::kF64:
      return NpyType::kF64;
    case DataType::kBf16:
      break;
  }
  fail(ErrorCode::kUnsupported, "NumPy has no {}", name(type));
}

void write_matrix(OutputFile& file, NpyType type, std::span<const std::int64_t> shape,
                  std::span<const char> elements) {
  file.write(npy_header_bytes(type, shape));
  file.write(elements);
}

}  // namespace rooftile
