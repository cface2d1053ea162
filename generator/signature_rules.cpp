#include <array>
#include <bit>
#include <string_view>

#include "generator/layout.h"
#include "generator/rules.h"

namespace rooftile {
namespace {

struct Case {
  const Variant& v;
  const DeviceLimits& limits;
  const Signature& s;
};
/// Checked in order behind the device's rules, on which they may rely.
struct SignatureRule {
  std::string_view reason;
  bool (*holds)(const Case&);
};

bool is_power_of_two(int x) { return std::has_single_bit(static_cast<unsigned>(x)); }

constexpr std::array kSignatureRules = {
    SignatureRule{
        "a quantised B is stored n x k: transposed",
        [](const Case& c) { return !quantized(c.s.types) || c.s.trans_b == Transpose::kYes; }},
    SignatureRule{"packed dot products multiply 8-bit integers",
                  [](const Case& c) { return c.v.dot == 1 || c.s.types.a == DataType::kI8; }},
    SignatureRule{
        "packed dot products read four neighbours along k: A or B that is not packed must "
        "be contiguous along k",
        [](const Case& c) {
          const bool a = c.v.packed_a == Packed::kYes || c.s.trans_a == Transpose::kNo;
          const bool b = c.v.packed_b == Packed::kYes || c.s.trans_b == Transpose::kYes;
          return c.v.dot == 1 || (a && b);
        }},
    SignatureRule{"reduction atomic adds float32 in storage buffers, which the device cannot",
                  [](const Case& c) {
                    return c.v.reduction == Reduction::kOrdered || c.limits.float32_atomic_add ||
                           part_type(c.s.types) == DataType::kI32;
                  }},
    SignatureRule{"the device has no 16-bit arithmetic for sums in f16",
                  [](const Case& c) { return !c.s.types.f16_sums || c.limits.float16_arithmetic; }},
    SignatureRule{
        "stage subgroup spreads 32-bit values: sums cannot be f16",
        [](const Case& c) { return !c.s.types.f16_sums || c.v.stage != Stage::kSubgroup; }},
    SignatureRule{"a quantised B that is not packed needs unroll_k (tile_k for tiled) in whole "
                  "words of values "
                  "and dividing its blocks, or divided by them",
                  [](const Case& c) {
                    if (!reads_quantized(c.v, c.s) || c.v.family == Family::kNaive) return true;
                    const int values = values_per_word(c.s.types) * words_width(c.v);
                    return is_power_of_two(k_step(c.v)) && is_power_of_two(c.v.unroll_k) &&
                           (c.v.family == Family::kTiled ? c.v.tile_k : c.v.unroll_k) % values == 0;
                  }},
    SignatureRule{
        "the invocations of a tiled workgroup must share the words of a quantised tile evenly",
        [](const Case& c) {
          return !reads_quantized(c.v, c.s) || c.v.family != Family::kTiled ||
                 c.v.tile_n * c.v.tile_k / values_per_word(c.s.types) % local_size(c.v) == 0;
        }},
};

}  // namespace

std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Signature& s) {
  if (std::optional<std::string> reason = illegal_reason(v, limits)) return reason;
  for (const SignatureRule& rule : kSignatureRules)
    if (!rule.holds({v, limits, s})) return std::string(rule.reason);
  return std::nullopt;
}

}  // namespace rooftile
