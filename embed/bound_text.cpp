#include "embed/bound_text.h"

#include <fmt/format.h>

namespace rooftile {

std::string bound_text(const Signature& s) {
  const Types& t = s.types;
  if (t.c == DataType::kI32) return "exact";
  const bool rounds = bytes_of(t.c) == 2;
  if (is_8_bit(t.a))
    return rounds ? "exact sums; float32 scales; one rounding of C" : "exact sums; float32 scales";
  // As error_bound() has it (runtime/verify/reference.h). What is rounded around float16 sums is
  // far less than one of their roundings.
  const bool half = t.sums == Sums::kF16;
  const int around = half ? 2 : any(s.epilogue) ? 27 : 3;
  return fmt::format(
      "error at most n u / (1 - n u){}{} of the sum of magnitudes, n = k + {}, u = 2^{}{}{}",
      half ? " (2 n u where n u is over 1/2)" : "",
      t.rounding == Rounding::kHalf           ? " + 2^-10"
      : quantized(t) && t.a == DataType::kF16 ? " + 2^-11"
                                              : "",
      around + (quantized(t) ? 4 : 0), half ? -11 : -24,
      t.rounding == Rounding::kInt8
          ? ", and 1/254 of the sum of magnitudes where each a is the largest of its 32 steps"
          : "",
      rounds ? ", and one rounding of C" : "");
}

}  // namespace rooftile
