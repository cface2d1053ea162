// Floating-point flags and traps are the program's.
#pragma once

#include <cfenv>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace rooftile {

/// What the model and drivers compute for themselves (infinities, conversions, just-in-time
/// compilers) raises no flag that the caller sees, as NumPy does after each call, and traps
/// nothing, where the caller has set traps. For the scope's thread; about 50 ns.
class QuietFloats {
 public:
  QuietFloats() { std::feholdexcept(&before_); }
  ~QuietFloats() { std::fesetenv(&before_); }
  QuietFloats(const QuietFloats&) = delete;
  QuietFloats& operator=(const QuietFloats&) = delete;

 private:
  std::fenv_t before_;
};

/// The same around arithmetic of float and double, functions of <cmath> included, and nothing else:
/// on x86-64 the x87's part of the environment, which takes nearly all of the time, is left out.
#ifdef __x86_64__
class QuietArithmetic {
 public:
  QuietArithmetic() { _mm_setcsr((before_ | _MM_MASK_MASK) & ~kRaised); }
  ~QuietArithmetic() { _mm_setcsr(before_); }
  QuietArithmetic(const QuietArithmetic&) = delete;
  QuietArithmetic& operator=(const QuietArithmetic&) = delete;

 private:
  static constexpr unsigned kRaised = _MM_EXCEPT_MASK;
  const unsigned before_ = _mm_getcsr();
};
#else
using QuietArithmetic = QuietFloats;
#endif

}  // namespace rooftile
