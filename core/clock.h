// Readings of the steady clock, whose differences alone have a meaning.
#pragma once

#include <chrono>

namespace rooftile {

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline double now_s() { return now_ns() * 1e-9; }

}  // namespace rooftile
