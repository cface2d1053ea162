#include "core/types.h"

#include <bit>
#include <charconv>

#include "core/enum_words.h"
#include "core/error.h"

namespace rooftile {
namespace {

constexpr EnumWords<DataType::kF64> kTypes = {"f32", "f16", "bf16", "i8", "i32", "u8", "f64"};
constexpr std::string_view kSum = "sum_f16", kHalf = "half", kInt8 = "int8";

[[noreturn]] void fail_to_parse(std::string_view text) {
  std::string formats;
  for (const BlockLayout& layout : block_layouts())
    formats += fmt::format("{}x{}", formats.empty() ? "" : ", ", layout.name);
  fail(ErrorCode::kInvalidArgument,
       "unknown types '{}'; written as f32, f64, f16, bf16, i8 or u8 for A and B, then _f16, _bf16 "
       "or _i32 for a C that is not f32, then _sum_f16 for sums in f16, or _half for f32 operands "
       "that may be rounded to 16 bits, or _int8 for an A in f32 that may be rounded to 8 bits "
       "beside a quantised B; xq4b32 or xq8b32 behind A's for a quantised B with blocks "
       "of 16 to 256, z or zf for packed or float zero points: f16xq4b32z_f16; or, for the blocks "
       "of a GGUF file, one of {}",
       text, formats);
}

/// Takes a prefix off the text, if it is there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_type(std::string_view& text, DataType& type) {
  for (std::size_t i = 0; i < kTypes.all.size(); ++i)
    if (take(text, kTypes.all[i])) {
      type = static_cast<DataType>(i);
      return true;
    }
  return false;
}

bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_quantization(std::string_view& text, Quantization& b) {
  for (const BlockLayout& layout : block_layouts())
    if (take(text, layout.name)) {
      b = quantization_of(layout.format);
      return true;
    }
  if (!take(text, "q") || !take_number(text, b.bits) || !take(text, "b") ||
      !take_number(text, b.block))
    return false;
  if (take(text, "z")) b.zero_point = take(text, "f") ? ZeroPoint::kFloat : ZeroPoint::kPacked;
  return b.bits > 0;
}

}  // namespace

std::string_view name(DataType type) { return kTypes[type]; }

DataType parse_data_type(std::string_view text) { return kTypes.parse("type", text); }

Quantization quantization_of(BlockFormat format) {
  const BlockLayout& layout = layout_of(format);
  return {.bits = layout.bits(), .block = layout.elements, .format = format};
}

Storage storage_of_b(const Types& t) {
  if (has_block_format(t)) {
    const BlockLayout& layout = layout_of(t.b.format);
    return {layout.elements, layout.bytes};
  }
  if (quantized(t)) return {8 / t.b.bits, 1};
  return {1, bytes_of(t.a)};
}

void validate(const Types& t) {
  const auto refuse = [](std::string_view why) { fail(ErrorCode::kInvalidArgument, "{}", why); };
  if (t.a == DataType::kI32) refuse("A and B cannot be i32: integers are multiplied as i8 or u8");
  if (is_8_bit(t.c)) refuse(t.c == DataType::kI8 ? "C cannot be i8" : "C cannot be u8");
  if (t.c == DataType::kI32 && !is_8_bit(t.a)) refuse("C is i32 only for i8 or u8 A and B");
  const bool weights = is_float64(t) && quantized(t);  // Refused below.
  if (!weights && is_float64(t) != (t.c == DataType::kF64))
    refuse("f64 operands have an f64 C, and no others have one");
  if (t.sums == Sums::kF16 && t.a != DataType::kF16) refuse("sums in f16 need A in f16");
  if (widens_sums(t) && (is_float64(t) || t.c == DataType::kI32))
    refuse("sums of f64 operands are f64, and those of an i32 C i32");
  if (rounding_of(t, t.rounding) != t.rounding)
    refuse(t.rounding == Rounding::kHalf
               ? "_half is only for an A in f32, with sums in f32"
               : "_int8 is only for an A in f32 beside a quantised B, with sums in f32");
  if (!quantized(t)) return;
  if (has_block_format(t)) {
    if (is_8_bit(t.a) || is_float64(t))
      fail(ErrorCode::kInvalidArgument, "a B in {} needs A in f32, f16 or bf16",
           layout_of(t.b.format).name);
    if (t.b != quantization_of(t.b.format))
      fail(ErrorCode::kInvalidArgument,
           "{} has blocks of {} values of {} bits without separate zero points",
           layout_of(t.b.format).name, layout_of(t.b.format).elements,
           layout_of(t.b.format).bits());
    return;
  }
  if (t.b.bits != 4 && t.b.bits != 8)
    fail(ErrorCode::kInvalidArgument, "B is quantised to {} bits; known: 4 and 8", t.b.bits);
  if (t.b.block < 16 || t.b.block > 256 || !std::has_single_bit(static_cast<unsigned>(t.b.block)))
    fail(ErrorCode::kInvalidArgument, "B has blocks of {}; known: 16, 32, 64, 128 and 256",
         t.b.block);
  if (t.a != DataType::kF32 && t.a != DataType::kF16) refuse("a quantised B needs A in f32 or f16");
}

std::string to_string(const Types& t) {
  std::string text(name(t.a));
  if (has_block_format(t)) {
    text += fmt::format("x{}", layout_of(t.b.format).name);
  } else if (quantized(t)) {
    text += fmt::format("xq{}b{}", t.b.bits, t.b.block);
    if (t.b.zero_point == ZeroPoint::kPacked) text += "z";
    if (t.b.zero_point == ZeroPoint::kFloat) text += "zf";
  }
  if (t.c != usual_c(t.a)) text += fmt::format("_{}", name(t.c));
  if (t.sums == Sums::kF16) text += fmt::format("_{}", kSum);
  if (widens_sums(t)) text += "_sum_f64";
  if (t.rounding != Rounding::kNone)
    text += fmt::format("_{}", t.rounding == Rounding::kHalf ? kHalf : kInt8);
  return text;
}

Types parse_types(std::string_view text) {
  Types t;
  std::string_view rest = text;
  if (!take_type(rest, t.a)) fail_to_parse(text);
  t.c = usual_c(t.a);
  if (take(rest, "x") && !take_quantization(rest, t.b)) fail_to_parse(text);
  while (!rest.empty()) {
    if (!take(rest, "_")) fail_to_parse(text);
    if (take(rest, kSum))
      t.sums = Sums::kF16;
    else if (t.rounding == Rounding::kNone && take(rest, kHalf))
      t.rounding = Rounding::kHalf;
    else if (t.rounding == Rounding::kNone && take(rest, kInt8))
      t.rounding = Rounding::kInt8;
    else if (!take_type(rest, t.c))
      fail_to_parse(text);
  }
  validate(t);
  return t;
}

}  // namespace rooftile
