#include <quadmath.h>
#include <rooftile/rooftile.h>

#include <memory>
#include <stdexcept>

#include "core/quantized.h"
#include "tests/precision/calls.h"
#include "tests/support/host_call.h"

namespace rooftile {
namespace {

/// Roundings of an activation and the steps before it, as core/epilogue.h computes them in
/// float64. Results of the C library's functions are off by a few units in the last place.
constexpr double kEpilogueRoundings = 32;

using Context = std::shared_ptr<rooftile_context>;

Context open_context() {
  rooftile_context* context = nullptr;
  if (rooftile_open(nullptr, &context) != ROOFTILE_OK)
    throw std::runtime_error(rooftile_last_error());
  return {context, rooftile_close};
}

Wide activated(Activation activation, Wide x) {
  const Wide half = static_cast<Wide>(1) / 2;
  switch (activation) {
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    // 1 + erf(y) suffers from cancellation in quadruple precision, too, from y = -9 on. erfc does
    // not.
    case Activation::kGeluErf:
      return half * x * erfcq(-x / sqrtq(2));
    case Activation::kGeluTanh:
      return x / (1 + expq(-2 * sqrtq(2 / acosq(-1)) *
                           (x + static_cast<Wide>(44715) / 1000000 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + expq(-x));
    case Activation::kNone:
      break;
  }
  return x;
}

/// Exact element (row, column) of matrix i of the batch.
Exact exact_element(const Product& x, std::int64_t i, std::int64_t row, std::int64_t column) {
  const Problem& p = x.problem;
  const char* const a = x.stored_a_elements.data() + i * p.stride_a * bytes_of(p.types.a);
  const char* const b = x.stored_b_elements.data() + bytes_of_b(p.types, i * p.stride_b);
  const QuantizedOperand quantized_b = {b, x.quantization.scales.data(),
                                        x.quantization.zero_points.data()};
  const auto left = [&](std::int64_t l) {
    return element(p.types.a, a, p.trans_a == Transpose::kYes ? l * p.lda + row : row * p.lda + l);
  };
  const auto right = [&](std::int64_t l) {
    if (quantized(p.types)) return dequantized(p, quantized_b, column, l);
    return element(p.types.a, b,
                   p.trans_b == Transpose::kYes ? column * p.ldb + l : l * p.ldb + column);
  };
  const std::int64_t at = i * p.stride_c + row * p.ldc + column;
  const double old = p.types.c == DataType::kF32
                         ? static_cast<double>(x.c_before[static_cast<std::size_t>(at)])
                         : element(p.types.c, x.stored_c_before.data(), at);
  const Epilogue& e = p.epilogue;
  Exact exact = exact_sum(p.alpha, p.k, left, right, any(e) ? 0.0f : p.beta, old);
  if (quantized(p.types)) {
    // The subtraction of a float zero point loses digits by cancellation, in the library and in
    // the reference.
    std::vector<double> magnitudes(static_cast<std::size_t>(p.k));
    dequantized_magnitudes(p, quantized_b, column, magnitudes.data());
    double magnitude = 0;
    for (std::int64_t l = 0; l < p.k; ++l)
      magnitude += std::fabs(left(l)) * magnitudes[static_cast<std::size_t>(l)];
    exact.magnitude += fabsq(static_cast<Wide>(p.alpha)) * magnitude;
    exact.roundings += 4;
  }
  if (!any(e)) return exact;
  const auto value = [type = epilogue_type(p.types)](const std::vector<char>& v,
                                                     std::int64_t index) {
    return static_cast<Wide>(element(type, v.data(), index));
  };
  Wide scale = 1;
  if (e.row_scale) scale *= value(x.row_scale, row);
  if (e.column_scale) scale *= value(x.column_scale, column);
  const Wide scaled_old = p.beta != 0.0f ? static_cast<Wide>(p.beta) * static_cast<Wide>(old) : 0;
  const Wide bias = e.bias == Bias::kNone ? 0 : value(x.bias, e.bias == Bias::kRow ? row : column);
  const Wide residual =
      e.residual ? value(x.residual, i * x.stride_residual() + row * x.ld_residual() + column) : 0;
  Wide y = activated(e.activation, exact.value * scale + scaled_old + bias) + residual;
  if (e.clamp && y < e.low) y = e.low;
  if (e.clamp && y > e.high) y = e.high;
  exact.magnitude = static_cast<Wide>(largest_slope(e.activation)) *
                        (exact.magnitude * fabsq(scale) + fabsq(scaled_old) + fabsq(bias)) +
                    fabsq(residual);
  exact.value = y;
  exact.roundings += kEpilogueRoundings;
  return exact;
}

void compare(const Product& x, Tally& tally) {
  const Problem& p = x.problem;
  for (std::int64_t i = 0; i < p.batch; ++i)
    for (std::int64_t row = 0; row < p.m; ++row)
      for (std::int64_t column = 0; column < p.n; ++column) {
        const std::int64_t at = i * p.stride_c + row * p.ldc + column;
        const double got = p.types.c == DataType::kF32
                               ? static_cast<double>(x.c[static_cast<std::size_t>(at)])
                               : element(p.types.c, x.stored_c_elements.data(), at);
        tally.add(p.types.c, exact_element(x, i, row, column), got);
      }
}

/// One of the epilogues that tests/precision/test_precision.py tunes the device for.
Epilogue any_epilogue(Random& random) {
  static const std::vector<std::string> epilogues = {
      "row_scale+column_scale+bias_row+silu+residual+clamp", "bias_column+gelu_erf",
      "column_scale+gelu_tanh+residual", "relu"};
  Epilogue e = parse_epilogue(epilogues[random.below(epilogues.size())]);
  if (e.clamp) e.low = -2, e.high = 3;
  return e;
}

Problem any_problem(Random& random, const Types& types) {
  const auto trans = [&] { return random.below(2) == 0 ? Transpose::kNo : Transpose::kYes; };
  const auto size = [&](std::int64_t most) { return any_of(random, 1, most); };
  const bool integers = types.c == DataType::kI32;
  Problem p = padded_problem(
      size(40), size(40), size(160), trans(), trans(), integers ? 1.0f : any_alpha(random),
      integers ? static_cast<float>(random.below(2)) : any_beta(random), types);
  return random.below(2) == 0 ? p : padded_batch(p, any_of(random, 2, 3), random.below(2) == 0);
}

/// Replaces the uniform values of a Product by another kind of values, at random.
void vary(Product& x, Random& random) {
  const Values values = any_values(random);
  if (values == Values::kUniform || x.problem.types != Types{}) return;
  for (std::vector<char>* const stored : {&x.stored_a_elements, &x.stored_b_elements}) {
    auto* const begin = reinterpret_cast<float*>(stored->data());
    for (std::size_t i = 0; i < stored->size() / sizeof(float); ++i)
      if (begin[i] == begin[i]) begin[i] = any_value(random, values);
  }
}

void refused(Tally& tally) {
  if (tally.refused++ == 0) tally.why = rooftile_last_error();
}

void call_gemm(const Context& context, const Problem& p, Random& random, Tally& tally) {
  ++tally.calls;
  Product x(p);
  vary(x, random);
  const HostCall call(x);
  if (rooftile_gemm(context.get(), &call.args) != ROOFTILE_OK) return refused(tally);
  compare(x, tally);
}

void call_sgemm(const Context& context, Random& random, Tally& tally) {
  ++tally.calls;
  Problem p = any_problem(random, {});
  p.batch = 1;
  Product x(p);
  vary(x, random);
  rooftile_sgemm_args args = {.struct_size = sizeof args,
                              .trans_a = c_transpose(p.trans_a),
                              .trans_b = c_transpose(p.trans_b),
                              .m = p.m,
                              .n = p.n,
                              .k = p.k,
                              .alpha = static_cast<float>(p.alpha),
                              .a = reinterpret_cast<const float*>(x.stored_a_elements.data()),
                              .lda = p.lda,
                              .b = reinterpret_cast<const float*>(x.stored_b_elements.data()),
                              .ldb = p.ldb,
                              .beta = static_cast<float>(p.beta),
                              .c = x.c.data(),
                              .ldc = p.ldc};
  // The second call takes the shortcut for repeated calls.
  for (int turn = 0; turn < 2; ++turn) {
    x.c = x.c_before;
    if (rooftile_sgemm(context.get(), &args) != ROOFTILE_OK) return refused(tally);
  }
  compare(x, tally);
}

struct FreeBuffer {
  void operator()(rooftile_buffer* buffer) const { rooftile_buffer_release(buffer); }
};

enum class TransferPath : std::uint8_t { kCall, kList };

rooftile_status run_resident(rooftile_context* context, const rooftile_gemm_args& args,
                             const rooftile_resident_operands& operands, TransferPath way) {
  if (way == TransferPath::kCall) return rooftile_resident_gemm(context, &args, &operands, nullptr);
  rooftile_list* list = nullptr;
  rooftile_status status = rooftile_list_create(context, &list);
  if (status == ROOFTILE_OK) status = rooftile_list_gemm(list, &args, &operands);
  if (status == ROOFTILE_OK) status = rooftile_list_run(list, nullptr);
  rooftile_list_release(list);
  return status;
}

void call_resident(const Context& context, TransferPath way, Random& random, Tally& tally) {
  ++tally.calls;
  Product x(any_problem(random, {}));
  vary(x, random);
  rooftile_gemm_args args = problem_args(x.problem);
  rooftile_resident_operands operands = {.struct_size = sizeof operands};
  std::vector<std::unique_ptr<rooftile_buffer, FreeBuffer>> buffers;
  const auto put = [&](const void* from, std::size_t bytes) {
    rooftile_buffer* buffer = nullptr;
    const bool there = rooftile_buffer_create(context.get(), bytes, &buffer) == ROOFTILE_OK &&
                       rooftile_buffer_upload(buffer, 0, from, bytes) == ROOFTILE_OK;
    buffers.emplace_back(buffer);
    return rooftile_place{there ? buffer : nullptr, 0};
  };
  operands.a = put(x.stored_a_elements.data(), x.stored_a_elements.size());
  operands.b = put(x.stored_b_elements.data(), x.stored_b_elements.size());
  const std::size_t bytes_c = x.c.size() * sizeof(float);
  operands.c = put(x.c.data(), bytes_c);
  if (operands.c.buffer == nullptr) return refused(tally);  // There is no device.
  if (run_resident(context.get(), args, operands, way) != ROOFTILE_OK) return refused(tally);
  if (rooftile_buffer_download(operands.c.buffer, 0, x.c.data(), bytes_c) != ROOFTILE_OK)
    throw std::runtime_error(rooftile_last_error());
  compare(x, tally);
}

}  // namespace

std::vector<Routine> abi_routines() {
  const Context context = open_context();
  const auto gemm = [&](const std::string& name, const std::vector<std::string>& types,
                        bool epilogues) {
    return Routine{name, [context, types, epilogues](Random& random, Tally& tally) {
                     const Types chosen = parse_types(types[random.below(types.size())]);
                     Problem p = any_problem(random, chosen);
                     if (epilogues || (is_float64(chosen) && random.below(2) == 0))
                       p.epilogue = any_epilogue(random);
                     call_gemm(context, p, random, tally);
                   }};
  };
  return {{"rooftile_sgemm",
           [context](Random& random, Tally& tally) { call_sgemm(context, random, tally); }},
          gemm("rooftile_gemm", {"f32"}, false),
          gemm("rooftile_gemm, 16-bit types",
               {"f16", "bf16", "f16_f16", "bf16_bf16", "f16_f16_sum_f16"}, false),
          gemm("rooftile_gemm, 8-bit types", {"i8", "u8", "i8_f16", "u8_bf16"}, false),
          gemm("rooftile_gemm, a quantised B",
               {"f32xq4b32", "f16xq4b16_f16", "f32xq4b32z", "f32xq8b16z", "f32xq8b32zf"}, false),
          gemm("rooftile_gemm, an int32 C", {"i8_i32", "u8_i32"}, false),
          gemm("rooftile_gemm, float64", {"f64"}, false),
          gemm("rooftile_gemm, an epilogue", {"f32", "f16_f16", "bf16", "i8"}, true),
          {"rooftile_resident_gemm",
           [context](Random& random, Tally& tally) {
             call_resident(context, TransferPath::kCall, random, tally);
           }},
          {"rooftile_list_gemm", [context](Random& random, Tally& tally) {
             call_resident(context, TransferPath::kList, random, tally);
           }}};
}

}  // namespace rooftile
