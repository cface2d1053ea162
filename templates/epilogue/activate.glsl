//: The activation function, by number as in core/epilogue.h.

// By the bits, because drivers may assume that there is no NaN: NVIDIA's turns x < 0 ? 0 : x into a
// maximum, which drops NaN.
bool is_nan(float x) { return floatBitsToUint(x) << 1 > 0xff000000u; }

// erf with an error of a few units in the last place of float32: a polynomial around 0, and
// 1 - exp(polynomial) beyond. The coefficients are minimax fits by N. Juffa, 2019.
float erf(float x) {
  const float t = abs(x), s = x * x;
  if (t > 0.927734375) {
    float r = -1.72853470e-5 * t + 3.83197126e-4;
    r = r * s + (-3.88396438e-3 * t + 2.42546219e-2);
    r = r * t - 1.06777877e-1;
    r = r * t - 6.34846687e-1;
    r = r * t - 1.28717512e-1;
    r = r * t - t;
    return sign(x) * (1.0 - exp(r));
  }
  float r = -5.96761703e-4 * s + 4.99119423e-3;
  r = r * s - 2.67681349e-2;
  r = r * s + 1.12819925e-1;
  r = r * s - 3.76125336e-1;
  r = r * s + 1.28379166e-1;
  return r * x + x;
}

float activate(float x) {
#if ACTIVATION == 1
  return x < 0.0 && !is_nan(x) ? 0.0 : x;
#elif ACTIVATION == 2
  return 0.5 * x * (1.0 + erf(x * 0.70710678118654752));
#elif ACTIVATION == 3
  // tanh computed from exp, for which Vulkan guarantees a smaller error.
  const float u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (2.0 - 2.0 / (exp(2.0 * u) + 1.0));
#elif ACTIVATION == 4
  return x / (1.0 + exp(-x));
#else
  return x;
#endif
}
