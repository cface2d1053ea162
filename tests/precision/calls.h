// Random calls of every routine whose precision is documented.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/numbers/random.h"
#include "tests/precision/judge.h"

namespace rooftile {

struct Routine {
  std::string name;
  std::function<void(Random&, Tally&)> call;  // makes one call with random arguments and operands
};

/// Routines of the C ABI, on host memory and on device buffers. The environment determines tier,
/// precision and database. Throws when no context can be opened.
std::vector<Routine> abi_routines();

/// Routines of a BLAS library (path of its file), called by Fortran's and CBLAS' entries in turn.
std::vector<Routine> blas_routines(const std::string& library);

/// A random number from low to high, both included.
inline std::int64_t any_of(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}
/// Returns 1 or a number in [1, 3). Unlike a random beta, the result is never 0.
inline float any_alpha(Random& random) {
  return random.below(2) == 0 ? 1.0f : random.symmetric() + 2.0f;
}
inline float any_beta(Random& random) {
  return random.below(3) == 0 ? 0.0f : random.below(2) == 0 ? 1.0f : random.symmetric() * 2;
}

/// Which values the operands of a call have.
enum class Values : std::uint8_t {
  kUniform,   // in [-1, 1)
  kWide,      // uniform values times 2^-12 ... 2^12
  kIntegers,  // integers of 12 bits
};
inline Values any_values(Random& random) { return static_cast<Values>(random.below(3)); }
inline float any_value(Random& random, Values values) {
  const float x = random.symmetric();
  if (values == Values::kUniform) return x;
  if (values == Values::kIntegers) return static_cast<float>(static_cast<int>(x * 2048));
  const auto scale = static_cast<int>(random.below(25)) - 12;
  return scale < 0 ? x / static_cast<float>(1 << -scale) : x * static_cast<float>(1 << scale);
}

}  // namespace rooftile
