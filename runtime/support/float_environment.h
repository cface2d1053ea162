// Protection of the caller's floating-point flags and traps, and from its rounding mode.
#pragma once

#include <cfenv>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace rooftile {

/// Scope in which floating-point operations of the calling thread raise no flags that the caller
/// sees, as in NumPy after each call, trap nothing even where the caller has enabled traps, and
/// round to nearest. The model and drivers compute with infinities, conversions and just-in-time
/// compilers. Costs about 50 ns.
class QuietFloats {
 public:
  QuietFloats() {
    std::feholdexcept(&before_);
    std::fesetround(FE_TONEAREST);
  }
  ~QuietFloats() { std::fesetenv(&before_); }
  QuietFloats(const QuietFloats&) = delete;
  QuietFloats& operator=(const QuietFloats&) = delete;

 private:
  std::fenv_t before_;
};

/// Cheaper scope for float and double arithmetic only, <cmath> functions included, with gaps for
/// the machine's BLAS (CallersArithmetic). On x86-64 it leaves out the x87 part of the environment,
/// which takes nearly all of the time.
class QuietArithmetic {
 public:
  QuietArithmetic() {
#ifdef __x86_64__
    set({(before_.bits | _MM_MASK_MASK) & ~unsigned{_MM_EXCEPT_MASK | _MM_ROUND_MASK}});
#else
    std::fenv_t same;
    std::feholdexcept(&same);
    std::fesetround(FE_TONEAREST);
#endif
    if (outermost_ == nullptr) outermost_ = this;
  }
  ~QuietArithmetic() {
    if (outermost_ == this) outermost_ = nullptr;
    set(before_);
  }
  QuietArithmetic(const QuietArithmetic&) = delete;
  QuietArithmetic& operator=(const QuietArithmetic&) = delete;

 private:
  friend class CallersArithmetic;
#ifdef __x86_64__
  struct State {
    unsigned bits;
  };
  static State state() { return {_mm_getcsr()}; }
  static void set(const State& x) { _mm_setcsr(x.bits); }
#else
  using State = std::fenv_t;
  static State state() {
    State now;
    std::fegetenv(&now);
    return now;
  }
  static void set(const State& x) { std::fesetenv(&x); }
#endif
  static constinit inline thread_local QuietArithmetic* outermost_ = nullptr;
  State before_ = state();
};

/// Scope within QuietArithmetic in which flags, traps and the rounding mode are again those of the
/// thread's outermost QuietArithmetic's caller, who keeps what is raised. Without one it changes
/// nothing.
class CallersArithmetic {
 public:
  CallersArithmetic() {
    if (quiet_ != nullptr) QuietArithmetic::set(quiet_->before_);
  }
  ~CallersArithmetic() {
    if (quiet_ == nullptr) return;
    quiet_->before_ = QuietArithmetic::state();
    QuietArithmetic::set(inside_);
  }
  CallersArithmetic(const CallersArithmetic&) = delete;
  CallersArithmetic& operator=(const CallersArithmetic&) = delete;

 private:
  QuietArithmetic* const quiet_ = QuietArithmetic::outermost_;
  const QuietArithmetic::State inside_ = QuietArithmetic::state();
};

}  // namespace rooftile
