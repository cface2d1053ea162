#include "runtime/blas/environment.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace rooftile::blas {
namespace {

constexpr int kNotRead = -1;

/// Whether the variable's value is one of these; an unset variable counts as "".
template <typename... Values>
bool is_one_of(const char* value, Values... values) {
  if (value == nullptr) value = "";
  return ((std::strcmp(value, values) == 0) || ...);
}

}  // namespace

WantedTier wanted_tier() {
  static std::atomic<int> stored = kNotRead;
  const int known = stored.load(std::memory_order_relaxed);
  if (known != kNotRead) return static_cast<WantedTier>(known);
  const char* const value = ::secure_getenv("ROOFTILE_TIER");
  const WantedTier tier = is_one_of(value, "", "auto") ? WantedTier::kAuto
                          : is_one_of(value, "device") ? WantedTier::kDevice
                          : is_one_of(value, "host64") ? WantedTier::kHost64
                                                       : WantedTier::kOther;
  stored.store(static_cast<int>(tier), std::memory_order_relaxed);
  return tier;
}

WantedPrecision wanted_precision() {
  static std::atomic<int> stored = kNotRead;
  const int known = stored.load(std::memory_order_relaxed);
  if (known != kNotRead) return static_cast<WantedPrecision>(known);
  const char* const value = ::secure_getenv("ROOFTILE_PRECISION");
  auto precision = WantedPrecision::kUnknown;
  if (is_one_of(value, "", "relaxed", "standard", "half", "int8"))
    precision = wanted_tier() == WantedTier::kHost64 ? WantedPrecision::kFloat64
                                                     : WantedPrecision::kStandard;
  else if (is_one_of(value, "high", "exact64"))
    precision = WantedPrecision::kFloat64;
  stored.store(static_cast<int>(precision), std::memory_order_relaxed);
  return precision;
}

}  // namespace rooftile::blas
