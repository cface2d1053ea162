#include "tuner/measure/host_kernels.h"

#include "runtime/host/host_advice.h"

namespace rooftile {
namespace {

constexpr float kScale = 3.0f;
// More chains than a multiply-add's latency times its issue rate: 4 to 5 cycles, two each.
constexpr std::size_t kChains = 12;

[[gnu::always_inline]] inline void copy(const float* __restrict a, const float*,
                                        float* __restrict c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i];
}
[[gnu::always_inline]] inline void scale(const float* __restrict a, const float*,
                                         float* __restrict c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = kScale * a[i];
}
[[gnu::always_inline]] inline void add(const float* __restrict a, const float* __restrict b,
                                       float* __restrict c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}
[[gnu::always_inline]] inline void triad(const float* __restrict a, const float* __restrict b,
                                         float* __restrict c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + kScale * b[i];
}

typedef float Vector4 __attribute__((vector_size(16)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector16 __attribute__((vector_size(64)));

template <typename Vector>
[[gnu::always_inline]] inline float multiply_add(std::uint64_t trips) {
  // Values that the compiler cannot know, and that neither grow nor vanish.
  float multiplier = 0.5f, addend = 1.0f;
  asm volatile("" : "+m"(multiplier), "+m"(addend));
  const Vector x = Vector{} + multiplier, y = Vector{} + addend;
  Vector chain[kChains];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < kChains; ++i) chain[i] = Vector{} + static_cast<float>(i);
  for (std::uint64_t t = 0; t < trips; ++t) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kChains; ++i) chain[i] = x * chain[i] + y;
  }
  Vector sum = {};
#pragma GCC unroll 12
  for (std::size_t i = 0; i < kChains; ++i) sum += chain[i];
  return sum[0];
}

// One set of kernels for each vector unit; `target` names the instructions that the compiler may
// use.
#define ROOFTILE_HOST_KERNELS(suffix, target, lanes)                                            \
  target void copy_##suffix(const float* a, const float* b, float* c, std::size_t count) {      \
    copy(a, b, c, count);                                                                       \
  }                                                                                             \
  target void scale_##suffix(const float* a, const float* b, float* c, std::size_t count) {     \
    scale(a, b, c, count);                                                                      \
  }                                                                                             \
  target void add_##suffix(const float* a, const float* b, float* c, std::size_t count) {       \
    add(a, b, c, count);                                                                        \
  }                                                                                             \
  target void triad_##suffix(const float* a, const float* b, float* c, std::size_t count) {     \
    triad(a, b, c, count);                                                                      \
  }                                                                                             \
  target float fma_##suffix(std::uint64_t trips) { return multiply_add<Vector##lanes>(trips); } \
  constexpr HostKernels kernels_##suffix = {.streams = {{{"copy", 2, copy_##suffix},            \
                                                         {"scale", 2, scale_##suffix},          \
                                                         {"add", 3, add_##suffix},              \
                                                         {"triad", 3, triad_##suffix}}},        \
                                            .fma = fma_##suffix,                                \
                                            .flops_per_trip = 2.0 * kChains * lanes};

ROOFTILE_HOST_KERNELS(base, , 4)
#if defined(__x86_64__)
ROOFTILE_HOST_KERNELS(avx2, [[gnu::target("avx2,fma")]], 8)
// Clang has no such attribute; its vectors of this function are 512 bits wide as they are.
#if defined(__clang__)
#define ROOFTILE_WIDEST_VECTORS ""
#else
#define ROOFTILE_WIDEST_VECTORS ",prefer-vector-width=512"
#endif
ROOFTILE_HOST_KERNELS(avx512, [[gnu::target("avx512f" ROOFTILE_WIDEST_VECTORS)]], 16)
#undef ROOFTILE_WIDEST_VECTORS
#endif

#undef ROOFTILE_HOST_KERNELS

}  // namespace

HostKernels host_kernels() {
#if defined(__x86_64__)
  switch (vector_unit()) {
    case VectorUnit::kAvx512:
      return kernels_avx512;
    case VectorUnit::kAvx2:
      return kernels_avx2;
    case VectorUnit::kOlder:
      break;
  }
#endif
  return kernels_base;
}

}  // namespace rooftile
