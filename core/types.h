// Element types of a GEMM: of A and B, of the sums and of C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/block_layout.h"

namespace rooftile {

enum class DataType : std::uint8_t { kF32, kF16, kBf16, kI8, kI32, kU8, kF64 };
std::string_view name(DataType type);             // "f32", "f16", "bf16", "i8", "i32", "u8", "f64"
DataType parse_data_type(std::string_view text);  // throws kInvalidArgument
constexpr std::int64_t bytes_of(DataType type) {  // of one element
  switch (type) {
    case DataType::kI8:
    case DataType::kU8:
      return 1;
    case DataType::kF16:
    case DataType::kBf16:
      return 2;
    case DataType::kF64:
      return 8;
    default:
      return 4;
  }
}

/// Whether operands of this type are 8-bit integers, whose products are exact.
constexpr bool is_8_bit(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }
/// The largest magnitude of a product of two such integers: (-128) squared, or 255 squared.
constexpr std::int64_t largest_product(DataType type) {
  return type == DataType::kU8 ? 255 * 255 : 128 * 128;
}

/// Where the zero of a quantised value lies: in the middle, at 2^(bits - 1); at an integer for each
/// block, packed like the values; or at a float for each block.
enum class ZeroPoint : std::uint8_t { kMiddle, kPacked, kFloat };

/// A quantised B, stored n x k (transposed) in blocks of `block` values along k, the last one of a
/// row filled up.
///
/// With format kSeparate it is stored as by ONNX Runtime's operator MatMulNBits: unsigned values of
/// 4 or 8 bits, low nibble first. A value stands for (value - zero point) * scale; scales (n x
/// blocks) and float zero points (n x blocks) have A's type; packed zero points are n x ceil(blocks
/// * bits / 8) bytes. Every other format has its scales in its blocks (core/block_format.h).
struct Quantization {
  int bits = 0;   // 0: B is not quantised
  int block = 0;  // 16, 32, 64, 128 or 256; that of the format
  ZeroPoint zero_point = ZeroPoint::kMiddle;
  BlockFormat format = BlockFormat::kSeparate;

  bool operator==(const Quantization&) const = default;
};
/// format: not kSeparate.
Quantization quantization_of(BlockFormat format);

/// The type of the sums of a GEMM. kUsual: float32, int32 for 8-bit integers, float64 for float64
/// operands. kF16: float16, where the caller allows it. kF64: float64, where the caller asks for
/// more than the usual (docs/precision.md); no kernel has them beside operands of another type, so
/// that the host or a pass over widened operands computes such a call.
enum class Sums : std::uint8_t { kUsual, kF16, kF64 };

/// The precision to which float32 operands may be rounded before they are multiplied, where the
/// caller allows it (docs/precision.md). kHalf: to 16 bits, so that each product is off by at most
/// 2^-10 of its magnitude. kInt8, beside a quantised B: A also to 8-bit integers, each 32 steps of
/// a row in a scale of their own (kRoundedSteps), so that an element is off by at most 1/254 of the
/// largest of these. Matrix units and packed dot products multiply such operands faster
/// (generator/unit_operands.h); all else computes as without this permission.
enum class Rounding : std::uint8_t { kNone, kHalf, kInt8 };
inline constexpr int kRoundedSteps = 32;

/// The types of one GEMM. The C of float64 operands is float64 too.
struct Types {
  DataType a = DataType::kF32;  // of A, and of B unless that is quantised
  Quantization b = {};
  DataType c = DataType::kF32;
  Sums sums = Sums::kUsual;
  Rounding rounding = Rounding::kNone;

  bool operator==(const Types&) const = default;
};

inline bool quantized(const Types& t) { return t.b.bits > 0; }
/// Whether a quantised B has scales in a buffer of their own.
inline bool has_separate_scales(const Types& t) {
  return quantized(t) && t.b.format == BlockFormat::kSeparate;
}
/// Whether a quantised B has its scales in its blocks.
inline bool has_block_format(const Types& t) { return t.b.format != BlockFormat::kSeparate; }
inline constexpr Types kFloat64Types = {.a = DataType::kF64, .c = DataType::kF64};
constexpr bool is_float64(const Types& t) { return t.a == DataType::kF64; }
/// Whether sums are float64 beside operands of another type.
constexpr bool widens_sums(const Types& t) { return t.sums == Sums::kF64; }
/// The type of the sums.
inline DataType sum_type(const Types& t) {
  return is_float64(t) || widens_sums(t) ? DataType::kF64
         : is_8_bit(t.a)                 ? DataType::kI32
         : t.sums == Sums::kF16          ? DataType::kF16
                                         : DataType::kF32;
}
/// The types without permission to round operands.
constexpr Types unrounded(Types t) {
  t.rounding = Rounding::kNone;
  return t;
}
/// How operands are rounded at most where the caller allows so much: those in float32 with float32
/// sums; to 8 bits beside a quantised B alone.
constexpr Rounding rounding_of(const Types& t, Rounding allowed) {
  if (t.a != DataType::kF32 || t.sums != Sums::kUsual) return Rounding::kNone;
  return allowed == Rounding::kInt8 && t.b.bits == 0 ? Rounding::kHalf : allowed;
}
/// Whether A, B and C are float32, and so are the sums.
constexpr bool is_float32(const Types& t) { return unrounded(t) == Types{}; }
/// The type of an epilogue's scales, bias and residual.
constexpr DataType epilogue_type(const Types& t) {
  return is_float64(t) ? DataType::kF64 : DataType::kF32;
}
/// Whether sums in C's type are as precise as anything that a caller can ask for: float64, or
/// exact.
constexpr bool has_precise_sums(const Types& t) {
  return is_float64(t) || widens_sums(t) || t.c == DataType::kI32;
}
/// The type of C where the text of types does not name one.
constexpr DataType usual_c(DataType a) {
  return a == DataType::kF64 ? DataType::kF64 : DataType::kF32;
}
/// Elements of B that come in whole bytes together, and their bytes. Those of separate scales and
/// zero points do not count.
struct Storage {
  std::int64_t elements, bytes;
};
Storage storage_of_b(const Types& t);
/// Bytes of this many elements of B; quantised ones come in whole blocks.
inline std::int64_t bytes_of_b(const Types& t, std::int64_t elements) {
  const Storage storage = storage_of_b(t);
  return elements * storage.bytes / storage.elements;
}
/// Elements of B in this many bytes; of blocks only whole ones.
inline std::int64_t elements_of_b(const Types& t, std::int64_t bytes) {
  const Storage storage = storage_of_b(t);
  return bytes / storage.bytes * storage.elements;
}
inline double bytes_per_element_b(const Types& t) {
  const Storage storage = storage_of_b(t);
  return static_cast<double>(storage.bytes) / static_cast<double>(storage.elements);
}

/// Throws kInvalidArgument for types that do not go together.
void validate(const Types& t);

/// The text of types: A's type, B's where it differs, C's where it is not f32 (f64 beside f64),
/// "sum" with the type of the sums where the caller chose one, and "half" or "int8" where operands
/// may be rounded: "f32", "f64", "f16_f16", "i8_i32", "f16_f16_sum_f16", "f32_half", "f32xq4b32" (4
/// bits, blocks of 32), "f16xq8b64z_f16" (z: packed zero points, zf: float ones), "f32xq4_k". Also
/// in the database, but for types with float64 sums ("_sum_f64"), which no kernel has.
std::string to_string(const Types& t);
/// Throws kInvalidArgument, whose message explains how types are written; also for "_sum_f64".
Types parse_types(std::string_view text);

}  // namespace rooftile
