#include "runtime/abi/c_api_arguments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/abi/handles.h"

namespace rooftile {
namespace {

// Largest size of any version of a structure. A larger struct_size is uninitialised memory, so the
// structure is not read.
constexpr std::size_t kMostBytes = 4096;

/// Returns the caller's struct_size, checked against the known sizes.
std::size_t checked_size(const char* argument, const void* structure, StructSizes sizes) {
  std::size_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  if (size < sizes.least || size > kMostBytes || size % alignof(std::size_t) != 0)
    fail(ErrorCode::kInvalidArgument,
         "{}->struct_size is {}, which no version of the header gives (this library's: {}): set it "
         "to sizeof the structure",
         argument, size, sizes.known);
  return size;
}

template <typename Enum>
Enum enumerator(const char* argument, const char* type, int value, Enum last) {
  if (value < 0 || value > static_cast<int>(last))
    fail(ErrorCode::kInvalidArgument, "{} is {}; see {}", argument, value, type);
  return static_cast<Enum>(value);
}

Transpose transpose(const char* argument, const rooftile_transpose& value) {
  return enumerator(argument, "rooftile_transpose", value_of(value), Transpose::kYes);
}

/// No value: the context's precision applies.
std::optional<Precision> precision_of(const rooftile_precision& given) {
  const int value = value_of(given);
  constexpr int kLast = static_cast<int>(Precision::kInt8) + 1;
  if (value < 0 || value > kLast)
    fail(ErrorCode::kInvalidArgument, "precision is {}; see rooftile_precision", value);
  return value == 0 ? std::nullopt : std::optional(static_cast<Precision>(value - 1));
}

void add_guard(GemmCall& call, const rooftile_guard* guard) {
  const Given given("guard", guard);
  if (!(given->kappa >= 0))
    fail(ErrorCode::kInvalidArgument,
         "guard->kappa is {}; condition numbers are 1 or more, and 0 means unknown", given->kappa);
  call.guard = {.precision = precision_of(given->precision),
                .scan_range = given->scan_range != 0,
                .check_spots = given->check_spots != 0,
                .kappa = given->kappa};
}

Layout layout_of(const rooftile_layout& layout) {
  return enumerator("layout", "rooftile_layout", value_of(layout), Layout::kColumnMajor);
}

/// Sets the leading dimension of a packed operand that the caller did not also pass as stored.
void complete_ld(GemmCall& call, Layout layout, const PackedOperand& packed) {
  const bool is_a = (packed.shape.operand == Operand::kA) == (layout == Layout::kRowMajor);
  Problem& p = call.problem;
  std::int64_t& ld = is_a ? p.lda : p.ldb;
  if ((is_a ? call.a : call.b) != nullptr || ld != 0 || packed.shape.quantization.bits > 0) return;
  const Extent extent = is_a ? stored_a(p) : stored_b(p);
  ld = std::max<std::int64_t>(layout == Layout::kRowMajor ? extent.columns : extent.rows, 1);
}

/// Converts the fields that all argument structures have.
Devices devices_of(std::int64_t given) {
  constexpr auto kLast = static_cast<std::int64_t>(Devices::kAll);
  if (given < 0 || given > kLast)
    fail(ErrorCode::kInvalidArgument, "devices is {}; see rooftile_devices", given);
  return static_cast<Devices>(given);
}

template <typename Args>
GemmCall unchecked_call(const Args& args) {
  GemmCall call = {.problem = {.m = args.m,
                               .n = args.n,
                               .k = args.k,
                               .trans_a = transpose("trans_a", args.trans_a),
                               .trans_b = transpose("trans_b", args.trans_b),
                               .lda = args.lda,
                               .ldb = args.ldb,
                               .ldc = args.ldc,
                               .alpha = args.alpha,
                               .beta = args.beta},
                   .a = args.a,
                   .b = args.b,
                   .c = args.c,
                   .tier = tier_choice(args.tier),
                   .devices = devices_of(args.devices)};
  if (args.guard != nullptr) add_guard(call, args.guard);
  if (args.packed != nullptr) {
    call.packed = packed_names().get(args.packed)->packed;
    complete_ld(call, layout_of(args.layout), *call.packed);
  }
  return call;
}

void check_length(const Problem& p, const char* what, std::size_t given, std::int64_t needed) {
  if (given == static_cast<std::size_t>(needed)) return;
  fail(ErrorCode::kInvalidArgument, "quantization->{}_bytes is {}, but {} need {}", what, given,
       is_grouped(p) ? fmt::format("n, k and {} experts", p.grouping.experts) : "n and k", needed);
}

void check_lengths(const Problem& p, const rooftile_quantization& given) {
  const QuantizedBytes bytes = quantized_bytes(p);
  check_length(p, "values", given.values_bytes, bytes.values);
  check_length(p, "scales", given.scales_bytes, bytes.scales);
  if (p.types.b.zero_point != ZeroPoint::kMiddle)
    check_length(p, "zero_points", given.zero_points_bytes, bytes.zero_points);
}

/// Validates the problem, which nothing before does as a whole, and makes the call a row-major one.
/// A quantised B has these lengths, if it is not null.
void check(GemmCall& call, Layout layout, const rooftile_quantization* lengths = nullptr) {
  validate(call.problem, layout);
  if (lengths != nullptr) check_lengths(call.problem, *lengths);
  if (layout == Layout::kColumnMajor) {
    call.problem = swapped_operands(call.problem);
    std::swap(call.a, call.b);
    std::swap(call.a_array, call.b_array);
    std::swap(call.epilogue.row_scale, call.epilogue.column_scale);
  }
  if (call.packed != nullptr) check_packed(*call.packed, call, layout);
}

/// Fields of float64 operands and those of other types are not both given.
constexpr const char* kOfFloat64 = "operands of type F64";
void refuse_other(bool given, const char* what, const char* of) {
  if (given) fail(ErrorCode::kInvalidArgument, "{} is for {}: leave it 0", what, of);
}

void add_epilogue(GemmCall& call, const rooftile_epilogue* epilogue) {
  const Given given("epilogue", epilogue);
  Epilogue& e = call.problem.epilogue;
  e.row_scale = given->row_scale != nullptr;
  e.column_scale = given->column_scale != nullptr;
  e.bias = enumerator("bias_kind", "rooftile_bias", value_of(given->bias_kind), Bias::kColumn);
  e.activation = activation_of(value_of(given->activation));
  e.residual = given->residual != nullptr;
  e.clamp = given->clamp != 0;
  check_knows_float64(epilogue, call.problem.types.a);
  if (e.clamp && is_float64(call.problem.types)) {
    refuse_other(given->low != 0, "epilogue->low", "other types than F64, which has low_f64");
    refuse_other(given->high != 0, "epilogue->high", "other types than F64, which has high_f64");
    e.low = given->low_f64;
    e.high = given->high_f64;
  } else if (e.clamp) {
    refuse_other(given->low_f64 != 0, "epilogue->low_f64", kOfFloat64);
    refuse_other(given->high_f64 != 0, "epilogue->high_f64", kOfFloat64);
    e.low = given->low;
    e.high = given->high;
  }
  call.epilogue = {.row_scale = given->row_scale,
                   .column_scale = given->column_scale,
                   .bias = given->bias,
                   .residual = given->residual,
                   .ld_residual = given->ld_residual,
                   .stride_residual = given->stride_residual};
}

BlockFormat block_format(std::int64_t given) {
  if (given < 0 || given > std::ssize(block_layouts()))
    fail(ErrorCode::kInvalidArgument, "quantization->format is {}; see rooftile_block_format",
         given);
  return static_cast<BlockFormat>(given);
}

void add_quantization(GemmCall& call, const rooftile_quantization& given) {
  Problem& p = call.problem;
  p.types.b = {.bits = given.bits,
               .block = given.block,
               .zero_point = enumerator("zero_point", "rooftile_zero_point",
                                        value_of(given.zero_point), ZeroPoint::kFloat),
               .format = block_format(given.format)};
  if (has_block_format(p.types)) {
    const BlockLayout& layout = layout_of(p.types.b.format);
    if (given.bits == 0) p.types.b.bits = layout.bits();
    if (given.block == 0) p.types.b.block = layout.elements;
  }
  if (p.types.b.bits == 0)
    fail(ErrorCode::kInvalidArgument, "quantization->bits is 0; known: 4 and 8");
  validate(p.types);  // ld_quantized() relies on them.
  if (p.ldb == 0) p.ldb = std::max<std::int64_t>(ld_quantized(p), 1);
  if (!has_separate_scales(p.types)) return;
  call.scales = given.scales;
  call.zero_points = given.zero_points;
}

/// The scalars of float64 operands are float64, in fields of their own.
void set_scalars(Problem& p, const rooftile_gemm_args& args) {
  if (!is_float64(p.types)) {
    refuse_other(args.alpha_f64 != 0, "alpha_f64", kOfFloat64);
    return refuse_other(args.beta_f64 != 0, "beta_f64", kOfFloat64);
  }
  refuse_other(args.alpha != 0, "alpha", "other types than F64, which has alpha_f64");
  refuse_other(args.beta != 0, "beta", "other types than F64, which has beta_f64");
  p.alpha = args.alpha_f64;
  p.beta = args.beta_f64;
}

void add_batch(GemmCall& call, const rooftile_gemm_args& args, Layout layout) {
  Problem& p = call.problem;
  if (args.batch < 1)
    fail(ErrorCode::kInvalidArgument, "batch is {}; it is 1 for a single GEMM", args.batch);
  p.batch = args.batch;
  call.a_array = args.a_array;
  call.b_array = args.b_array;
  call.c_array = args.c_array;
  // Matrices behind an array of pointers may lie anywhere, so any legal stride will do.
  const auto stride = [&](const void* array, std::int64_t given, Extent extent, std::int64_t ld) {
    const std::int64_t lines = layout == Layout::kRowMajor ? extent.rows : extent.columns;
    if (array == nullptr) return given;
    // A result that overflows is not used: validate() refuses such a matrix.
    const auto elements = static_cast<std::uint64_t>(lines) * static_cast<std::uint64_t>(ld);
    return std::max<std::int64_t>(static_cast<std::int64_t>(elements), 1);
  };
  p.stride_a = stride(args.a_array, args.stride_a, stored_a(p), p.lda);
  p.stride_b = stride(args.b_array, args.stride_b, stored_b(p), p.ldb);
  p.stride_c = stride(args.c_array, args.stride_c, {p.m, p.n}, p.ldc);
}

/// The B of all experts lie a stride apart; quantised ones lie one behind the other.
void add_grouping(GemmCall& call, const Grouping& grouping, std::int64_t expert_columns) {
  Problem& p = call.problem;
  p.grouping = grouping;
  if (!is_grouped(p)) return;
  if (call.packed != nullptr && call.packed->shape.operand == Operand::kA)
    fail(ErrorCode::kInvalidArgument, "packed is A, but of a grouped call only B may be packed");
  // What overflows is refused by validate().
  const auto behind_each_other = [&](std::int64_t rows, std::int64_t ld) {
    return __builtin_mul_overflow(rows, ld, &p.stride_b) ? -1 : p.stride_b;
  };
  if (call.packed != nullptr && p.stride_b == 0)
    p.stride_b = behind_each_other(stored_b(p).rows, p.ldb);
  if (call.a_array != nullptr || call.b_array != nullptr || call.c_array != nullptr)
    fail(ErrorCode::kInvalidArgument,
         "a grouped call has no arrays of pointers: the B of the experts lie stride_b apart");
  if (expert_columns != 0 && expert_columns < p.n)
    fail(
        ErrorCode::kInvalidArgument,
        "groups->stride_columns is {}; an expert's vectors have n = {} elements (0: all share one)",
        expert_columns, p.n);
  call.epilogue.expert_columns = expert_columns;
  std::int64_t most = 0;
  if (__builtin_mul_overflow(grouping.experts, expert_columns, &most) ||
      most > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::kInvalidArgument, "{} vectors groups->stride_columns {} apart are too many",
         grouping.experts, expert_columns);
  if (quantized(p.types) && p.stride_b == 0) p.stride_b = behind_each_other(p.n, ld_quantized(p));
}

}  // namespace

Operand row_major_operand(const rooftile_operand& operand, const rooftile_layout& layout) {
  const Operand given = enumerator("operand", "rooftile_operand", value_of(operand), Operand::kB);
  if (layout_of(layout) == Layout::kRowMajor) return given;
  return given == Operand::kA ? Operand::kB : Operand::kA;
}

TierChoice tier_choice(const rooftile_tier& tier) {
  return enumerator("tier", "rooftile_tier", value_of(tier), TierChoice::kHost64);
}

DataType data_type(const char* argument, const rooftile_type& value) {
  return enumerator(argument, "rooftile_type", value_of(value), DataType::kF64);
}

void check_knows_float64(const rooftile_epilogue* given, DataType type) {
  if (type == DataType::kF64 && given->struct_size < sizeof *given && given->clamp != 0)
    fail(ErrorCode::kInvalidArgument,
         "type is F64, whose low_f64 and high_f64 are not in an epilogue of struct_size {}: "
         "compile with a later header",
         given->struct_size);
}

void check_knows_float64(const rooftile_gemm_args* given) {
  if (given->struct_size < sizeof *given && value_of(given->type) == ROOFTILE_F64)
    fail(ErrorCode::kInvalidArgument,
         "type is F64, whose alpha_f64 and beta_f64 are not in a structure of struct_size {}: "
         "compile with a later header",
         given->struct_size);
}

Activation activation_of(std::int64_t value) {
  if (value < 0 || value > static_cast<std::int64_t>(Activation::kSilu))
    fail(ErrorCode::kInvalidArgument, "activation is {}; see rooftile_activation", value);
  return static_cast<Activation>(value);
}

void copy_struct(const char* argument, const void* given, StructSizes sizes, void* copy) {
  const std::size_t size = checked_size(argument, given, sizes);
  const auto* const bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = sizes.known; i < size; ++i)
    if (bytes[i] != 0)
      fail(ErrorCode::kUnsupported,
           "{} has a field, at byte {}, that this library (version {}) does not know: load the "
           "library of the header that the program was compiled with, or leave the field zero",
           argument, i, rooftile_version());
  std::memset(copy, 0, sizes.known);
  std::memcpy(copy, given, std::min(size, sizes.known));
  std::memcpy(copy, &sizes.known, sizeof sizes.known);
}

void fill_struct(const char* argument, void* target, StructSizes sizes, const void* result) {
  const std::size_t size = checked_size(argument, target, sizes);
  auto* const bytes = static_cast<unsigned char*>(target);
  constexpr std::size_t kFirst = sizeof size;  // Offset of the first byte behind struct_size.
  std::memcpy(bytes + kFirst, static_cast<const unsigned char*>(result) + kFirst,
              std::min(size, sizes.known) - kFirst);
  if (size > sizes.known) std::memset(bytes + sizes.known, 0, size - sizes.known);
}

ContextOptions context_options(const rooftile_options* given) {
  ContextOptions chosen;
  if (given == nullptr) return chosen;
  const Given options("options", given);
  if (options->database_path != nullptr) chosen.database = options->database_path;
  if (options->device != nullptr) chosen.device = options->device;
  const TierChoice tier = tier_choice(options->tier);
  if (tier != TierChoice::kAuto) chosen.tier = tier;
  if (options->no_untuned_log != 0) chosen.log_untuned = LogUntuned::kNo;
  chosen.precision = precision_of(options->precision);
  if (options->no_measured_calls != 0) chosen.measure_calls = MeasureCalls::kNo;
  if (options->deterministic != 0) chosen.deterministic = Deterministic::kYes;
  const Devices devices = devices_of(options->devices);
  if (devices != Devices::kDefault) chosen.devices = devices;
  return chosen;
}

GemmCall checked_call(const rooftile_sgemm_args* given) {
  const Given args("args", given);
  GemmCall call = unchecked_call(*args);
  check(call, layout_of(args->layout));
  return call;
}

GemmCall checked_call(const rooftile_gemm_args* given) {
  return checked_grouped_call(given, {}, 0);
}

GemmCall checked_grouped_call(const rooftile_gemm_args* given, const Grouping& grouping,
                              std::int64_t expert_columns) {
  const Given args("args", given);
  GemmCall call = unchecked_call(*args);
  Types& types = call.problem.types;
  types.a = data_type("type", args->type);
  types.c = data_type("type_c", args->type_c);
  if (args->f16_sums != 0) types.sums = Sums::kF16;
  check_knows_float64(given);
  const Layout layout = layout_of(args->layout);
  std::optional<Given<rooftile_quantization>> quantization;
  if (args->quantization != nullptr)
    add_quantization(call, *quantization.emplace("quantization", args->quantization));
  if (!may_sum_in_f16(types)) types.sums = Sums::kUsual;
  validate(types);
  set_scalars(call.problem, *args);
  if (args->epilogue != nullptr) add_epilogue(call, args->epilogue);
  add_batch(call, *args, layout);
  add_grouping(call, grouping, expert_columns);
  check(call, layout, quantization ? &**quantization : nullptr);
  return call;
}

}  // namespace rooftile
