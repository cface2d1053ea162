#include "tests/precision/judge.h"

#include <quadmath.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/half.h"

namespace rooftile {
namespace {

/// Rounds by comparison with both neighbours, independently of core/half.cpp.
float rounded_to_bf16(Wide x) {
  const auto nearest = static_cast<float>(x);
  if (!std::isfinite(nearest)) return nearest;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest) & 0xffff0000u;
  const float towards_zero = std::bit_cast<float>(bits),
              away = std::bit_cast<float>(bits + 0x10000u);
  const Wide middle =
      (static_cast<Wide>(towards_zero) +
       (std::isinf(away) ? copysignq(ldexpq(1, 128), x) : static_cast<Wide>(away))) /
      2;
  const Wide distance = fabsq(x), half = fabsq(middle);
  if (distance < fabsq(static_cast<Wide>(towards_zero))) {  // Here nearest was rounded up to bits.
    const float below = std::bit_cast<float>(bits - 0x10000u);
    const Wide tie = (fabsq(static_cast<Wide>(below)) + fabsq(static_cast<Wide>(towards_zero))) / 2;
    return distance < tie ? below : towards_zero;
  }
  if (distance != half) return distance < half ? towards_zero : away;
  return (bits & 0x10000u) == 0 ? towards_zero : away;
}

}  // namespace

double rounded(DataType type, Wide x) {
  if (type == DataType::kF16) return static_cast<double>(static_cast<_Float16>(x));
  if (type == DataType::kBf16) return rounded_to_bf16(x);
  if (type == DataType::kI32 || type == DataType::kF64) return static_cast<double>(x);
  return static_cast<double>(static_cast<float>(x));
}

void Tally::add(DataType type, const Exact& exact, double computed) {
  ++elements;
  const double wanted = rounded(type, exact.value);
  if (computed == wanted) {
    ++correct;
    return;
  }
  const Wide bound = exact.magnitude * (exact.roundings * 0x1p-53);
  const double low = rounded(type, exact.value - bound), high = rounded(type, exact.value + bound);
  ++(low <= computed && computed <= high ? within : beyond);
  if (!std::isfinite(computed)) {
    worst = std::numeric_limits<double>::max();  // JSON has no infinity
    return;
  }
  const Wide error = fabsq(static_cast<Wide>(computed) - static_cast<Wide>(wanted));
  // The rounding to a C of fewer bits than float32 is larger than the errors that worst measures.
  const double unit = type == DataType::kF16 ? 0x1p-10 : type == DataType::kBf16 ? 0x1p-7 : 0;
  const Wide beside = error - static_cast<Wide>(unit) * fabsq(exact.value);
  if (beside > 0) worst = std::max(worst, static_cast<double>(beside / exact.magnitude));
}

}  // namespace rooftile
