#include "runtime/host/host_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rooftile {
namespace {

// Names of OpenBLAS 0.3.21's x86-64 targets (TargetList.txt) whose kernels do not use AVX2.
constexpr std::array<std::string_view, 17> kWithoutAvx2 = {
    "Prescott", "Core2",     "Penryn",     "Dunnington",  "Nehalem",      "Sandybridge",
    "Atom",     "Nano",      "Athlon",     "Opteron",     "Opteron_SSE3", "Barcelona",
    "Bobcat",   "Bulldozer", "Piledriver", "Steamroller", "Katmai"};

}  // namespace

VectorUnit vector_unit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return VectorUnit::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorUnit::kAvx2;
#endif
  return VectorUnit::kOlder;
}

std::string host_advice(std::string_view core_name, VectorUnit unit) {
  const bool old_kernels =
      std::find(kWithoutAvx2.begin(), kWithoutAvx2.end(), core_name) != kWithoutAvx2.end();
  if (!old_kernels || unit == VectorUnit::kOlder) return {};
  return fmt::format(
      "OpenBLAS does not know this processor and uses its kernels for {}; with "
      "OPENBLAS_CORETYPE={} in the environment "
      "the host is probably several times faster (then tune again with --recalibrate)",
      core_name, unit == VectorUnit::kAvx512 ? "SkylakeX" : "Haswell");
}

}  // namespace rooftile
