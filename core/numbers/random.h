#pragma once

#include <cstdint>

namespace rooftile {

/// splitmix64: small, seedable and the same on every platform, which std's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); bound > 0. The bias of the remainder is below 2^-40 for bounds below
  /// 2^24.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform in [-1, 1) with 24 bits, exact in float32.
  float symmetric() {
    return static_cast<float>(static_cast<double>(next() >> 40) * 0x1p-23 - 1.0);
  }

 private:
  std::uint64_t state_;
};

}  // namespace rooftile
