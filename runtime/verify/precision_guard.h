// Accuracy checks of results of a device: a scan of the operands' range before the call, and a
// check of a few elements of C after it (docs/precision.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/call/call.h"

namespace rooftile {

/// How far the caller permits float32 operands to be rounded. Where it gives a condition number,
/// digits count: not at all.
Rounding permitted_rounding(const Guard& guard);
Precision precision_of(const Guard& guard);  ///< kStandard where the guard does not set one.
bool needs_float64(const Guard& guard);
bool scans(const Guard& guard);
bool checks_spots(const Guard& guard);
bool is_guarded(const Guard& guard);  ///< Whether the guard requires any of the above.

/// Range of the elements of a matrix, as they are read.
struct Range {
  double largest = 0;  ///< Largest magnitude of the finite elements.
  bool finite = true;  ///< No element is infinity or NaN.
  bool whole = true;   ///< All elements are integers.
};
/// Scans every element of a floating-point matrix once, on all processors. Integer types need no
/// scan, because their sums are exact.
Range range(DataType type, Extent extent, const void* matrix, std::int64_t ld);

/// Why a call should not be computed with float32 sums on a device.
struct RangeRefusal {
  /// True: float64 sums give the answer. False: the host's float32 is as good as any.
  bool needs_float64;
  std::string reason;
};
/// Refuses the call for one of these reasons; a quantised B is not scanned:
/// - A, B or (when it is read) C holds infinity or NaN.
/// - The bound |alpha| max|A| max|B| k + |beta| max|C| exceeds the range of the sums.
/// - The matrices hold integers whose sums may exceed 2^24, beyond which float32 does not represent
///   all integers.
std::optional<RangeRefusal> range_refusal(const GemmCall& call);
/// Bytes that a scan reads.
double scanned_bytes(const Problem& p);

/// An element of C with an error above its bound.
struct Mismatch {
  std::string what;
  /// True: rounding does not explain the error, so the kernel is wrong. False: the result is only
  /// less accurate than requested.
  bool wrong;
};

/// Recomputes kSpots random elements of C in float64.
class SpotCheck {
 public:
  static constexpr int kSpots = 16;

  /// An element may differ from the exact one by 1e-4 (kHigh: 1e-6) of its sum of magnitudes, plus
  /// a rounding to C's type. Except for kHigh, float16 sums and a quantised B that is rounded to
  /// float16 may differ by what that explains. Equal seeds choose equal elements.
  SpotCheck(Precision precision, std::uint64_t seed) : precision_(precision), seed_(seed) {}

  /// Returns the first element with too large an error. `result` holds matrices of C's type, with
  /// ld elements between rows and stride elements between matrices. The call's own C still has its
  /// content from before the call.
  std::optional<Mismatch> mismatch(const GemmCall& call, const void* result, std::int64_t ld,
                                   std::int64_t stride) const;

 private:
  Precision precision_;
  std::uint64_t seed_;
};
/// Bytes that a check reads: a row of op(A) and a column of op(B) for each spot, with a cache line
/// for each value where these are not contiguous.
double checked_bytes(const Problem& p);

}  // namespace rooftile
