// What stands between a device's number and the caller: a scan of the operands' range before the
// product, and a check of a few elements of C after it (docs/precision.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/context.h"

namespace rooftile {

/// What a call asks for.
Precision precision_of(const Guard& guard);  // kStandard where it does not say
bool needs_float64(const Guard& guard);
bool scans(const Guard& guard);
bool checks_spots(const Guard& guard);
bool is_guarded(const Guard& guard);  // any of them

/// Of a matrix' elements as they are read.
struct Range {
  double largest = 0;  // magnitude, of the finite ones
  bool finite = true;  // no infinity, no NaN
  bool whole = true;   // all are integers
};
/// Every element of a float matrix once, all processors at work. Integer types have nothing to
/// tell: their products are exact.
Range range(DataType type, Extent extent, const void* matrix, std::int64_t ld);

/// Why float32 sums, on a device, are not what this call should get.
struct RangeRefusal {
  bool needs_float64;  // float64 sums give the answer; else the host's float32 is as good as any
  std::string reason;
};
/// Refused are: infinity or NaN in A, B or (when read) C; a bound |alpha| max|A| max|B| k + |beta|
/// max|C| past what sums can hold; and matrices of integers whose sums may pass 2^24, beyond which
/// float32 does not hold all of them. A quantised B is not scanned.
std::optional<RangeRefusal> range_refusal(const GemmCall& call);
/// What a scan reads.
double scanned_bytes(const Problem& p);

/// An element of C that is not what it should be.
struct Mismatch {
  std::string what;
  bool
      wrong;  // beyond what rounding explains: the kernel is; else only short of what was asked for
};

/// Recomputes kSpots random elements of C in float64.
class SpotCheck {
 public:
  static constexpr int kSpots = 16;

  /// A result may lie 1e-4 (kHigh: 1e-6) of the element's sum of magnitudes from the exact one,
  /// plus a rounding to C's type; but for kHigh, float16 sums and a quantised B that is rounded to
  /// float16 may be off by what that explains. Equal seeds pick equal elements.
  SpotCheck(Precision precision, std::uint64_t seed) : precision_(precision), seed_(seed) {}

  /// result: matrices of C's type, ld and stride elements apart. The call's own C is what it was
  /// before.
  std::optional<Mismatch> mismatch(const GemmCall& call, const void* result, std::int64_t ld,
                                   std::int64_t stride) const;

 private:
  Precision precision_;
  std::uint64_t seed_;
};
/// What a check reads: a row of op(A) and a column of op(B) for each element, a cache line an
/// element where they do not lie side by side.
double checked_bytes(const Problem& p);

}  // namespace rooftile
