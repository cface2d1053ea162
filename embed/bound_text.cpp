#include "embed/bound_text.h"

#include <fmt/format.h>

namespace rooftile {

std::string bound_text(const Signature& s) {
  const Types& t = s.types;
  if (t.c == DataType::kI32) return "exact";
  const bool rounds = bytes_of(t.c) == 2;
  if (is_8_bit(t.a))
    return rounds ? "exact sums; float32 scales; one rounding of C" : "exact sums; float32 scales";
  return fmt::format("error at most (k + a few) 2^{} of the sum of magnitudes{}",
                     t.sums == Sums::kF16 ? -11 : -24, rounds ? ", and one rounding of C" : "");
}

}  // namespace rooftile
