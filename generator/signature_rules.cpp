#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "generator/layout.h"
#include "generator/rules.h"

namespace rooftile {
namespace {

struct TypedKernel {
  const Variant& v;
  const DeviceLimits& limits;
  const Signature& s;
};
/// Rules are checked in order after the device's rules, on which they may rely.
struct SignatureRule {
  std::string_view reason;
  bool (*holds)(const TypedKernel&);
};

/// Whether the device offers the shape of a matrix kernel for these types.
bool offers_types(const TypedKernel& c) {
  return offers_matrix(c.v, c.limits, [&](const MatrixShape& shape) {
    return shape.operand == unit_type(c.s.types) && shape.sum == sum_type(c.s.types);
  });
}

/// Elements of a matrix unit's fragments in the direction of vector loads from memory.
int run_a(const TypedKernel& c) {
  const bool along_k = c.v.packed_a == Packed::kYes || c.s.trans_a == Transpose::kNo;
  return along_k ? c.v.matrix_k : c.v.matrix_m;
}
int run_b(const TypedKernel& c) {
  const bool along_k = c.v.packed_b == Packed::kYes || c.s.trans_b == Transpose::kYes;
  return along_k ? c.v.matrix_k : c.v.matrix_n;
}

constexpr std::int64_t kMatrixAlignmentBytes = 16;  // of loads, or a fragment's row if shorter

/// Whether fragments of an operand begin where matrix units can load them. Tiles in shared memory
/// have rows along k, padded to whole vectors, or rows of `rows` elements as in memory. There,
/// fragments begin at multiples of `loaded` elements, and their rows have `run` elements.
bool fragments_are_aligned(const TypedKernel& c, bool staged, int rows, bool along_k, int run,
                           int loaded) {
  if (staged) {
    const int vector = shared_words(c.v, c.s.types) * elements_per_unit_word(c.s.types);
    const bool stored = c.v.stage == Stage::kStored && !along_k;
    return ((stored ? rows : c.v.tile_k) + c.v.shared_pad) % vector == 0 &&
           (!stored || run % vector == 0);
  }
  const std::int64_t bytes = bytes_of(c.s.types.a);
  return loaded * bytes % std::min(kMatrixAlignmentBytes, run * bytes) == 0;
}

bool is_power_of_two(int x) { return std::has_single_bit(static_cast<unsigned>(x)); }

constexpr std::array kSignatureRules = {
    SignatureRule{
        "an i32 C has no epilogue; C in f32, f16 or bf16 has",
        [](const TypedKernel& c) { return c.s.types.c != DataType::kI32 || !any(c.s.epilogue); }},
    SignatureRule{
        "groups have any number of rows, which follow each other in A: edge must be masked, "
        "and A not transposed",
        [](const TypedKernel& c) {
          return !c.s.grouped || (c.v.edge == Edge::kMasked && c.s.trans_a == Transpose::kNo);
        }},
    SignatureRule{"a workgroup of a grouped GEMM computes whole sums of one group: split_k and "
                  "tile_batch must be 1, and scope subgroup",
                  [](const TypedKernel& c) {
                    return !c.s.grouped ||
                           (c.v.split_k == 1 && c.v.tile_batch == 1 && !has_workgroup_scope(c.v));
                  }},
    SignatureRule{"words of several elements cannot be packed by groups: packed_a must be no",
                  [](const TypedKernel& c) {
                    return !c.s.grouped || c.v.packed_a == Packed::kNo || !packs_words(c.v);
                  }},
    SignatureRule{"sums in f64 need operands in f64",
                  [](const TypedKernel& c) { return !widens_sums(c.s.types); }},
    SignatureRule{
        "the device has no float64 arithmetic",
        [](const TypedKernel& c) { return !is_float64(c.s.types) || c.limits.float64_arithmetic; }},
    SignatureRule{"a texel holds two float64, and load_path texel needs vectors of 4, which must "
                  "divide reg_m or reg_n where they do not run along k",
                  [](const TypedKernel& c) {
                    return !is_float64(c.s.types) ||
                           ((c.v.load_path_a != LoadPath::kTexel || load_width_a(c.v, c.s) == 4) &&
                            (c.v.load_path_b != LoadPath::kTexel || load_width_b(c.v, c.s) == 4));
                  }},
    SignatureRule{"a quantised B is stored n x k: transposed",
                  [](const TypedKernel& c) {
                    return !quantized(c.s.types) || c.s.trans_b == Transpose::kYes;
                  }},
    SignatureRule{"packed dot products multiply 8-bit integers",
                  [](const TypedKernel& c) { return c.v.dot == 1 || is_8_bit(c.s.types.a); }},
    SignatureRule{
        "packed dot products read four neighbours along k: A or B that is not packed must "
        "be contiguous along k",
        [](const TypedKernel& c) {
          const bool a = c.v.packed_a == Packed::kYes || c.s.trans_a == Transpose::kNo;
          const bool b = c.v.packed_b == Packed::kYes || c.s.trans_b == Transpose::kYes;
          return c.v.dot == 1 || (a && b);
        }},
    SignatureRule{
        "the device's matrix units do not multiply these types (bf16 for f32) in the shape "
        "matrix_m x "
        "matrix_n x matrix_k",
        [](const TypedKernel& c) { return c.v.family != Family::kMatrix || offers_types(c); }},
    SignatureRule{
        "float32 operands of matrix, and bfloat16 beside a quantised B, go to shared memory in the "
        "order in which they are stored: load_path buffer, scope subgroup, stage stored",
        [](const TypedKernel& c) {
          return !recomputes_sums(c.v, c.s.types) ||
                 (c.v.load_path_a == LoadPath::kBuffer && c.v.load_path_b == LoadPath::kBuffer &&
                  c.v.stage == Stage::kStored);
        }},
    SignatureRule{"sums of parts, or with a quantised B, that are not finite are computed again in "
                  "a loop over k, which the device's driver would leave too early",
                  [](const TypedKernel& c) {
                    return !recomputes_sums(c.v, c.s.types) || c.limits.max_loop_trips == 0;
                  }},
    SignatureRule{"matrix units multiply half precision with f16 arithmetic, 8-bit integers with "
                  "i8 arithmetic, which the device lacks",
                  [](const TypedKernel& c) {
                    if (c.v.family != Family::kMatrix) return true;
                    return c.s.types.a == DataType::kF16 ? c.limits.float16_arithmetic
                           : is_8_bit(c.s.types.a)       ? c.limits.int8_arithmetic
                                                         : true;
                  }},
    SignatureRule{"matrix units multiply a quantised B through shared memory: load_path_b must be "
                  "buffer",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kMatrix || !quantized(c.s.types) ||
                           c.v.load_path_b == LoadPath::kBuffer;
                  }},
    SignatureRule{"beside A in f32 or bf16, scales of a quantised B multiply sums of whole matrix "
                  "operations: unroll_k must be a multiple of the 16 or 32 steps that share a "
                  "scale, and these of matrix_k, which is at least 8",
                  [](const TypedKernel& c) {
                    return !scales_sums(c.v, c.s.types) ||
                           (c.v.unroll_k % scale_steps(c.s.types) == 0 &&
                            scale_steps(c.s.types) % c.v.matrix_k == 0 && c.v.matrix_k >= 8);
                  }},
    SignatureRule{"fragments must be whole vectors: vector_width_a and vector_width_b words must "
                  "divide them along what lies together in memory",
                  [](const TypedKernel& c) {
                    const LoadElements load = load_elements(c.v, c.s);
                    return c.v.family != Family::kMatrix ||
                           (run_a(c) % load.a == 0 && run_b(c) % load.b == 0);
                  }},
    SignatureRule{"matrix units load from multiples of 16 bytes, or of a fragment's shorter row: "
                  "wider vectors, or another shared_pad",
                  [](const TypedKernel& c) {
                    if (c.v.family != Family::kMatrix) return true;
                    const LoadElements load = load_elements(c.v, c.s);
                    return fragments_are_aligned(c, staged_a(c.v), c.v.tile_m,
                                                 c.s.trans_a == Transpose::kNo, run_a(c), load.a) &&
                           fragments_are_aligned(c, staged_b(c.v), c.v.tile_n,
                                                 c.s.trans_b == Transpose::kYes, run_b(c), load.b);
                  }},
    SignatureRule{"an invocation would hold too many values: reg_m * reg_n + unroll_k * (reg_m + "
                  "reg_n) must not exceed 320 for vector kernels of a B that is not quantised",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kVector ||
                           (may_loop_over_columns(c.v) ? loops_over_columns(c.v, c.s)
                                                       : quantized(c.s.types)) ||
                           live_values(c.v, c.v.reg_n) <= kMostLiveRegister;
                  }},
    SignatureRule{"tiles exceed the device's shared memory",
                  [](const TypedKernel& c) {
                    return shared_bytes(c.v, c.s) <= shared_bytes_left(c.v, c.limits);
                  }},
    SignatureRule{
        "reduction atomic adds float32 in storage buffers, where the device can, or int32, but "
        "never float64",
        [](const TypedKernel& c) {
          return c.v.reduction == Reduction::kOrdered || part_type(c.s.types) == DataType::kI32 ||
                 (part_type(c.s.types) == DataType::kF32 && c.limits.float32_atomic_add);
        }},
    SignatureRule{"stage stored of matrix is for operands that units multiply in 16 bits, whose "
                  "fragments they "
                  "read across rows",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kMatrix || c.v.stage != Stage::kStored ||
                           bytes_of(unit_type(c.s.types)) == 2;
                  }},
    SignatureRule{
        "stage stored loads A along k for the invocations of a vector or tiled kernel: A must not "
        "be transposed",
        [](const TypedKernel& c) {
          return c.v.stage != Stage::kStored || c.v.family == Family::kMatrix ||
                 c.s.trans_a == Transpose::kNo;
        }},
    SignatureRule{"stage stored of tiled is for an A that may be rounded to 8-bit integers (types "
                  "with _int8)",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kTiled || c.v.stage != Stage::kStored ||
                           multiplies_int8(c.v, c.s.types);
                  }},
    SignatureRule{
        "stage stored of vector and tiled rounds A to 8-bit integers where that is allowed: "
        "vector_width_a must be 4, unroll_k at least 16, and the device have packed dot products",
        [](const TypedKernel& c) {
          return !multiplies_int8(c.v, c.s.types) ||
                 (c.v.vector_width_a == 4 && c.v.unroll_k >= 16 && c.limits.integer_dot_product);
        }},
    SignatureRule{"stage stored of tiled rounds vectors of A by runs of 8: the number of "
                  "invocations must be a multiple of 8 (of tile_k / 4 where tile_k is less than 32)",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kTiled || c.v.stage != Stage::kStored ||
                           local_size(c.v) % std::min(8, c.v.tile_k / 4) == 0;
                  }},
    SignatureRule{"store_map permuted is for tiles of A or B along k in whose plain order "
                  "neighbouring stores share banks of shared memory",
                  [](const TypedKernel& c) {
                    return c.v.store_map == StoreMap::kPlain || store_rows_a(c.v, c.s).step > 1 ||
                           store_rows_b(c.v, c.s).step > 1;
                  }},
    SignatureRule{
        "stage stored narrows sums for an f16 C: the device must offer the shape with sums in f16",
        [](const TypedKernel& c) {
          return !narrows_fragments(c.v, c.s) ||
                 offers_matrix(c.v, c.limits, [](const MatrixShape& unit) {
                   return unit.operand == DataType::kF16 && unit.sum == DataType::kF16;
                 });
        }},
    SignatureRule{"the device has no 16-bit arithmetic for sums in f16",
                  [](const TypedKernel& c) {
                    return c.s.types.sums != Sums::kF16 || c.limits.float16_arithmetic;
                  }},
    SignatureRule{"stage subgroup spreads 32-bit values: sums cannot be f16 or f64",
                  [](const TypedKernel& c) {
                    return c.v.stage != Stage::kSubgroup || bytes_of(sum_type(c.s.types)) == 4;
                  }},
    SignatureRule{
        "with stage subgroup, B is multiplied element by element: a quantised B must be packed",
        [](const TypedKernel& c) {
          return !reads_quantized(c.v, c.s) || c.v.stage != Stage::kSubgroup;
        }},
    SignatureRule{"a quantised B that is not packed needs unroll_k (tile_k for tiled) in whole "
                  "words of values "
                  "and dividing its blocks, or divided by them",
                  [](const TypedKernel& c) {
                    if (!reads_quantized(c.v, c.s) || c.v.family == Family::kNaive) return true;
                    const int values = load_values(c.v, c.s.types);
                    return is_power_of_two(k_step(c.v)) && is_power_of_two(c.v.unroll_k) &&
                           (c.v.family == Family::kTiled ? c.v.tile_k : c.v.unroll_k) % values == 0;
                  }},
    SignatureRule{"prefetch ahead of vector loads B in the blocks of a GGUF file by vectors: "
                  "vector_width_b must be 4, and unroll_k whole windows of such blocks",
                  [](const TypedKernel& c) {
                    return c.v.family != Family::kVector || c.v.prefetch == Prefetch::kNone ||
                           (has_block_format(c.s.types) && words_width(c.v, c.s.types) == 4);
                  }},
    SignatureRule{
        "the invocations of a tiled workgroup must share the words of a quantised tile evenly",
        [](const TypedKernel& c) {
          return !reads_quantized(c.v, c.s) || c.v.family != Family::kTiled ||
                 c.v.tile_n * c.v.tile_k / least_values(c.s.types) % local_size(c.v) == 0;
        }},
};

}  // namespace

bool has_shape(const Variant& v, const MatrixShape& shape) {
  return v.matrix_m == shape.m && v.matrix_n == shape.n && v.matrix_k == shape.k;
}

bool has_multiple(const Variant& v, const MatrixShape& unit, std::uint32_t longest) {
  const auto fits = [&](int size, int step) {
    return step > 0 && size > 0 && size % step == 0 && static_cast<std::uint32_t>(size) <= longest;
  };
  return fits(v.matrix_m, unit.m) && fits(v.matrix_n, unit.n) && fits(v.matrix_k, unit.k);
}

bool has_unit(const Variant& v, const WorkgroupMatrix& matrix, std::uint32_t longest) {
  return matrix.invocations == local_size(v) && has_multiple(v, matrix.unit, longest);
}

LoadElements load_elements(const Variant& v, const Signature& s) {
  const int per_word = elements_per_word(v, s.types);
  return {per_word * load_width_a(v, s),
          reads_quantized(v, s) ? load_values(v, s.types) : per_word * load_width_b(v, s)};
}

LoadElements line_elements(const Variant& v, const Signature& s) {
  return has_workgroup_scope(v) && v.edge == Edge::kMasked ? LoadElements{1, 1}
                                                           : load_elements(v, s);
}

std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Signature& s) {
  if (std::optional<std::string> reason = illegal_reason(v, limits)) return reason;
  for (const SignatureRule& rule : kSignatureRules)
    if (!rule.holds({v, limits, s})) return std::string(rule.reason);
  return std::nullopt;
}

}  // namespace rooftile
