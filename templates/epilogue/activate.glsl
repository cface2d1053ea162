//: The activation function, by number as in core/epilogue.h, in float64 beside a C in float64, else in float32.
#if defined(TYPE_C) && TYPE_C == F64
//: With exp and erf, which GLSL has for float32 alone. Their errors are below 3 * 2^-53.

// By the bits, because drivers may assume that there is no NaN.
bool is_nan(double x) {
  const uvec2 bits = unpackDouble2x32(x);
  return (bits.y << 1 | min(bits.x, 1u)) > 0xffe00000u;
}

// 2^n.
double power_of_two(int n) { return packDouble2x32(uvec2(0, (1023 + n) << 20)); }

// With x = n ln 2 + r the product of 2^n and the Taylor polynomial of exp(r), |r| <= ln 2 / 2. 2^n
// in two factors, because it may lie beyond float64's normal range where the product does not. ln 2
// in two parts, of which n times the first is exact.
double exp(double x) {
  const double y = clamp(x, -750.0LF, 750.0LF);
  const double n = floor(fma(y, 1.4426950408889634LF, 0.5LF));
  const double r = fma(n, -1.9082149292705877e-10LF, fma(n, -0.69314718036912382LF, y));
  double p = fma(1.6059043836821613e-10LF, r, 2.08767569878681e-09LF);
  p = fma(p, r, 2.505210838544172e-08LF);
  p = fma(p, r, 2.7557319223985888e-07LF);
  p = fma(p, r, 2.7557319223985893e-06LF);
  p = fma(p, r, 2.4801587301587302e-05LF);
  p = fma(p, r, 0.00019841269841269841LF);
  p = fma(p, r, 0.0013888888888888889LF);
  p = fma(p, r, 0.0083333333333333332LF);
  p = fma(p, r, 0.041666666666666664LF);
  p = fma(p, r, 0.16666666666666666LF);
  p = fma(p, r, 0.5LF);
  p = fma(p, r, 1.0LF);
  p = fma(p, r, 1.0LF);
  const int power = int(n), first = power / 2;
  return p * power_of_two(first) * power_of_two(power - first);
}

// A polynomial around 0, and 1 - exp(polynomial) beyond: minimax fits by the Remez algorithm, of
// erf(x) / x in x^2 and of ln(1 - erf(x)), weighted with 1 - erf(x). From 6 on erf(x) rounds to 1.
double erf(double x) {
  const double t = min(abs(x), 6.0LF), s = x * x;
  if (t >= 1.0LF) {
    double r = fma(-4.8650575129486256e-12LF, t, 2.0203271651868646e-10LF);
    r = fma(r, t, -3.8899875337487032e-09LF);
    r = fma(r, t, 4.5932953915478146e-08LF);
    r = fma(r, t, -3.6956363265249254e-07LF);
    r = fma(r, t, 2.1147903964007571e-06LF);
    r = fma(r, t, -8.5787418507871533e-06LF);
    r = fma(r, t, 2.2532738105445914e-05LF);
    r = fma(r, t, -1.9522464041446924e-05LF);
    r = fma(r, t, -0.00013655693890198846LF);
    r = fma(r, t, 0.00077304751525505185LF);
    r = fma(r, t, -0.0019189512445547353LF);
    r = fma(r, t, 0.00041354209779050066LF);
    r = fma(r, t, 0.018988037902022893LF);
    r = fma(r, t, -0.10270228753243205LF);
    r = fma(r, t, -0.63664405595760731LF);
    r = fma(r, t, -1.1283739915107647LF);
    r = fma(r, t, -5.1326316710009487e-07LF);
    return sign(x) * (1.0LF - exp(r));
  }
  double r = fma(-7.7794677510917088e-10LF, s, 1.3710980202645715e-08LF);
  r = fma(r, s, -1.6206313769690034e-07LF);
  r = fma(r, s, 1.6447131581436621e-06LF);
  r = fma(r, s, -1.49247123036256e-05LF);
  r = fma(r, s, 0.00012055293577027264LF);
  r = fma(r, s, -0.00085483259293199412LF);
  r = fma(r, s, 0.0052239776061185983LF);
  r = fma(r, s, -0.026866170643111479LF);
  r = fma(r, s, 0.11283791670944185LF);
  r = fma(r, s, -0.37612638903183521LF);
  r = fma(r, s, 1.1283791670955126LF);
  return r * x;
}

double activate(double x) {
#if ACTIVATION == 1
  return x < 0.0 && !is_nan(x) ? 0.0LF : x;
#elif ACTIVATION == 2
  return 0.5LF * x * (1.0LF + erf(x * 0.70710678118654752LF));
#elif ACTIVATION == 3
  const double u = 0.79788456080286536LF * (x + 0.044715LF * x * x * x);
  return 0.5LF * x * (2.0LF - 2.0LF / (exp(2.0LF * u) + 1.0LF));
#elif ACTIVATION == 4
  return x / (1.0LF + exp(-x));
#else
  return x;
#endif
}
#else

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
#endif
