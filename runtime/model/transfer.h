// How the operands of a product in host memory get to the device and back, and how long that takes:
// copied through staging memory, or without a copy of the host's, because its own memory is
// imported (VK_EXT_external_memory_host). Each operand goes the way that is predicted to be
// fastest, from calibrated rates alone. Pure functions of values.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/problem.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// kPacked: A or B, on the device in the layout that kernels read, and at hand for the host as
/// well. It neither moves nor is packed.
enum class Residency : std::uint8_t { kHost, kDevice, kPacked };

enum class Way : std::uint8_t {
  kNone,     // it does not move: it lies on the device, or is not read
  kStaged,   // the host copies it into memory that the device sees, or out of it
  kCopied,   // the host's memory is imported, and the device copies from it, or to it
  kInPlace,  // the host's memory is imported, and the kernel reads or writes it there
};
std::string_view name(Way way);  // "none", "staged", "copied", "in_place"

/// Of A and B, of C on its way to the device (when beta asks for it) and back.
struct Ways {
  Way a = Way::kNone, b = Way::kNone, c_in = Way::kNone, c_out = Way::kNone;

  bool operator==(const Ways&) const = default;
};

/// Where the operands lie, and what a kernel may do with them there.
struct OperandPlaces {
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
  bool c_is_checked = false;  // before the caller gets it
  // From an operand's first byte to its last: of a part of a matrix gaps included.
  double reach_bytes = std::numeric_limits<double>::infinity();
};

/// Bytes of the matrices themselves, all products of a batch; what B's scales take is B's.
struct OperandBytes {
  double a, b, c;
};
OperandBytes operand_bytes(const Problem& p);

struct Transfers {
  Ways ways = {};
  double in_ns = 0, out_ns = 0;
  double staged_in_ns = 0, staged_out_ns = 0;  // the same if everything were staged
  double link_bytes = 0;                       // of what is copied, by whomever

  double ns() const { return in_ns + out_ns; }
  double staged_ns() const { return staged_in_ns + staged_out_ns; }
};
/// One product after the other; the ways are the first one's.
Transfers operator+(const Transfers& first, const Transfers& second);

/// Operands are read or written where they are only if every kernel that could take a staged copy
/// could take them (rows and strides of whole loads), and copied by the device only if they are
/// laid out as their staged copy would be. What the device writes into the host's memory cannot be
/// taken back when it fails on the way: only where beta is 0, so that the host's answer needs
/// nothing of the old C.
Transfers transfers(const Problem& p, const OperandPlaces& places, const DeviceRates& rates);

}  // namespace rooftile
