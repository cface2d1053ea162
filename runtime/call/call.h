// What a call to the runtime is: the problem, its operands in host memory, how it is to be
// computed, and how it was answered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/problem.h"
#include "core/quantized.h"
#include "core/variant.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

enum class TierChoice : std::uint8_t { kAuto, kDevice, kHost, kHost1, kHost64 };
/// "auto", "device", "host", "host1", "host64": in the order of TierChoice.
std::span<const std::string_view> tier_choice_names();
/// Throws kInvalidArgument for any other name.
TierChoice parse_tier_choice(std::string_view text);
/// The tier that a choice other than kAuto names.
Tier tier_of(TierChoice choice);

/// "relaxed", "standard", "high", "exact64", "half", "int8": in the order of Precision.
std::span<const std::string_view> precision_names();
/// Throws kInvalidArgument for any other name.
Precision parse_precision(std::string_view text);

/// With kYes, the same database and the same operands give the same bits in every run and with any
/// number of threads: kernels that add atomically are not used, host tiers compute on one thread,
/// no call is timed to choose its tier, and a call waits for its kernel instead of letting the host
/// answer. Only a kernel that fails can change a result.
enum class Deterministic : std::uint8_t { kNo, kYes };

/// What a call does while its kernel is not compiled yet: another kernel or the host answers it, or
/// it waits.
enum class WhileCompiling : std::uint8_t { kHostAnswers, kWait };

/// The devices that may compute one call: one, or several at a time and the host
/// (docs/several-devices.md). kDefault: as the context says.
enum class Devices : std::uint8_t { kDefault, kOne, kAll };
/// "one", "all".
std::span<const std::string_view> devices_names();
/// Throws kInvalidArgument for any other name.
Devices parse_devices(std::string_view text);

/// The precision that a result must have, and the checks that ensure it (docs/precision.md).
struct Guard {
  /// kRelaxed and kStandard: the error of float32 sums in any order. kHigh: 1e-6 of the sum of
  /// magnitudes, with both checks below. kExact64: float64 sums. kHalf, kInt8: float32 operands
  /// may be rounded (Rounding). No value: the context's precision.
  std::optional<Precision> precision;
  bool scan_range = false;   ///< Check the range of the operands before a device gets them.
  bool check_spots = false;  ///< Check elements of a device's result before the caller gets it.
  double kappa = 0;  ///< Condition number of what the caller does with C; 0 when it is not known.

  bool operator==(const Guard&) const = default;
};

/// Operands of an epilogue in host memory, elements of epilogue_type(); null where the problem's
/// epilogue does not use them. row_scale and a bias of rows have m elements, column_scale and a
/// bias of columns n for each expert of a grouped problem. The residual has the rows and columns of
/// C, ld_residual elements between rows and stride_residual between the matrices of a batch.
struct EpilogueOperands {
  const void* row_scale = nullptr;
  const void* column_scale = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  std::int64_t ld_residual = 0, stride_residual = 0;
  /// Elements from an expert's column_scale or bias to the next one's; 0: all experts share them.
  std::int64_t expert_columns = 0;
};
/// Elements of column_scale, or of a bias of columns, for all experts.
inline std::int64_t column_elements(const Problem& p, std::int64_t expert_columns) {
  return (matrices_b(p) - 1) * expert_columns + p.n;
}

/// The epilogue's values for one element of C of matrix i of a batch.
EpilogueValues epilogue_values(const Problem& p, const EpilogueOperands& operands, std::int64_t i,
                               std::int64_t row, std::int64_t column);

/// The address `bytes` behind x; null stays null, for calls that have no operands there.
inline const void* behind(const void* x, std::int64_t bytes) {
  return x == nullptr ? nullptr : static_cast<const char*>(x) + bytes;
}
/// Bytes of so many elements of an operand of the epilogue.
inline std::int64_t epilogue_bytes(const Problem& p, std::int64_t elements) {
  return elements * bytes_of(epilogue_type(p.types));
}
/// The address so many elements behind x, an operand of the epilogue; null stays null.
inline const void* behind_elements(const Problem& p, const void* x, std::int64_t elements) {
  return behind(x, epilogue_bytes(p, elements));
}

/// Whether a call reads A and B at all.
inline bool reads_operands(const Problem& p) { return p.k > 0 && p.alpha != 0.0f; }

struct PackedOperand;

/// One GEMM, or a batch, on operands in host memory, row-major. Sizes, strides, alpha and beta are
/// in the problem. Matrices of a batch lie a stride apart, or where an array of pointers says (then
/// the stride is ignored).
struct GemmCall {
  Problem problem;
  const void* a = nullptr;  ///< Elements of problem.types; for a quantised B, its values.
  const void* b = nullptr;
  void* c = nullptr;
  const void* const* a_array = nullptr;
  const void* const* b_array = nullptr;
  void* const* c_array = nullptr;
  EpilogueOperands epilogue = {};  ///< The operands that problem.epilogue uses.
  const void* scales = nullptr;    ///< Of a quantised B.
  const void* zero_points = nullptr;
  TierChoice tier = TierChoice::kAuto;
  Guard guard = {};
  Devices devices = Devices::kDefault;
  /// A or B as it was packed before; the pointer to that operand may then be null.
  std::shared_ptr<const PackedOperand> packed = nullptr;

  const void* a_of(std::int64_t i) const {
    return a_array ? a_array[i] : behind(a, i * problem.stride_a * bytes_of(problem.types.a));
  }
  const void* b_of(std::int64_t i) const {
    return b_array ? b_array[i] : behind(b, bytes_of_b(problem.types, i * problem.stride_b));
  }
  void* c_of(std::int64_t i) const {
    return c_array ? c_array[i]
                   : static_cast<char*>(c) + i * problem.stride_c * bytes_of(problem.types.c);
  }
  const void* residual_of(std::int64_t i) const {
    return behind_elements(problem, epilogue.residual, i * epilogue.stride_residual);
  }
  QuantizedOperand quantized_b() const { return {b, scales, zero_points}; }
};

/// Where the operands of a problem lie. A GemmCall has them in host memory, or packed; the other
/// combinations are for questions to the model.
struct Residencies {
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
};

/// Why a call was answered by the tier that answered it.
enum class Reason : std::uint8_t {
  kPredicted,    ///< The tier is predicted to be the fastest.
  kForced,       ///< The caller asked for the tier.
  kCompiling,    ///< The host answered because the device's kernel is not compiled yet.
  kFailed,       ///< The host answered because the device failed.
  kNothingToDo,  ///< C is empty.
  kPrecision,    ///< The host answered because of the precision asked for, or of a failed check.
  kMeasured,     ///< Earlier calls found the tier to be the fastest, or it is being probed.
};

struct Answer {
  Problem problem;  ///< Row-major.
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;  ///< That the device ran; the context owns it. Null for slices.
  Residencies where = {};           ///< With kPacked where the call had a packed operand.
  Guard guard = {};                 ///< As the call had it, with its context's precision.
  std::string shares = {};          ///< Who computed how much of a call that was split; else "".
};

}  // namespace rooftile
