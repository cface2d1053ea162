// Floating-point flags and traps are the program's.
#pragma once

#include <cfenv>

namespace rooftile {

/// What the model and drivers compute for themselves (infinities, conversions, just-in-time
/// compilers) raises no flag that the caller sees, as NumPy does after each call, and traps nothing,
/// where the caller has set traps. For the scope's thread; about 50 ns.
class QuietFloats {
 public:
  QuietFloats() { std::feholdexcept(&before_); }
  ~QuietFloats() { std::fesetenv(&before_); }
  QuietFloats(const QuietFloats&) = delete;
  QuietFloats& operator=(const QuietFloats&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace rooftile
