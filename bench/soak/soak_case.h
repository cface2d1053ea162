// One case of the soak test: a call, the way in that it takes, and the kernel that the tuning
// database offers for it. A case is one line of text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/groups.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "runtime/call/call.h"

namespace rooftile {

/// Ways into Rooftile. kStrided and kArrays are batches of the drop-in. kSyrk is its ssyrk or
/// dsyrk, which multiplies A with itself. kVulkan records the call into the command buffer of a
/// Vulkan program, on its device. kKernel runs the drawn kernel itself, on operands with any legal
/// placement.
enum class Way : std::uint8_t {
  kGemm,
  kSgemm,
  kPointers,
  kPacked,
  kResident,
  kList,
  kPackedResident,
  kVulkan,
  kFortran,
  kCblas,
  kStrided,
  kArrays,
  kSyrk,
  kKernel
};
/// Whether the operands lie on the device, so that there is no other tier.
inline bool is_resident(Way way) { return way >= Way::kResident && way <= Way::kVulkan; }
/// Whether the call goes through a symbol of the drop-in.
inline bool is_drop_in(Way way) { return way >= Way::kFortran && way <= Way::kSyrk; }

/// Special values in A, B and a C that is read.
enum class Special : std::uint8_t { kNothing, kDenormals, kInfinities, kNan };
/// kAB: A and B are the same memory. kResidual: C is its own residual. kCInA: C begins inside of A,
/// which must be refused.
enum class Alias : std::uint8_t { kNone, kAB, kResidual, kCInA };
/// What the calibration in the database says of the host, for the tier AUTO.
enum class HostSpeed : std::uint8_t { kSlow, kEven, kFast };
enum class Accuracy : std::uint8_t { kDefault, kRelaxed, kStandard, kHigh, kExact64, kHalf, kInt8 };

struct SoakCase {
  Signature tuned = {};  ///< Class that the kernel is stored for; often that of the problem.
  Variant kernel = {};
  HostSpeed host = HostSpeed::kSlow;
  Way way = Way::kGemm;
  Problem problem = {};  ///< Row-major.
  std::vector<Group> groups = {};
  Layout layout = Layout::kRowMajor;  ///< As the caller states it.
  TierChoice tier = TierChoice::kDevice;
  Accuracy accuracy = Accuracy::kDefault;
  bool scan = false, spots = false, deterministic = false;
  Special special = Special::kNothing;
  bool nan_in_c = false;
  Alias alias = Alias::kNone;
  int shift = 0;                 ///< Elements before the first one of each operand's memory.
  Operand packed = Operand::kB;  ///< Of kPacked and kPackedResident.
  bool original = false;         ///< Whether the packed operand is passed as well.
  std::uint64_t seed = 0;        ///< Of the special values' places.

  bool operator==(const SoakCase&) const = default;
};

/// "way=gemm types=f32 trans=nt m=5 n=7 k=3 ... family=tiled tile_m=16 ...": words in any order.
/// What has its default is left out; ld and strides default to the smallest.
std::string to_string(const SoakCase& test);
/// Throws kInvalidArgument for unknown words and values.
SoakCase parse_case(std::string_view line);

/// Limits of the clamp, if the epilogue has one. Of float64 operands: one that float32 does not
/// hold.
inline void set_clamp_limits(Problem& p) {
  if (p.epilogue.clamp) p.epilogue.low = is_float64(p.types) ? -2.0 / 3 : -0.75;
  if (p.epilogue.clamp) p.epilogue.high = 1.5;
}

/// The names of the ways, in the order of the enumeration.
inline constexpr std::array<std::string_view, 14> kWayNames = {
    "gemm",   "sgemm",   "pointers", "packed",  "resident", "list", "packed_resident",
    "vulkan", "fortran", "cblas",    "strided", "arrays",   "syrk", "kernel"};

}  // namespace rooftile
