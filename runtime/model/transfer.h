// Transfer paths of operands in host memory to the device and back, and their times: copied through
// staging memory, or with the host's own memory imported (VK_EXT_external_memory_host) instead of
// copied by the host. Each operand takes the path that is predicted to be fastest, from calibrated
// rates alone. Pure functions of values.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/problem.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// Where an operand is. kPacked: A or B is on the device in the layout that kernels read, and also
/// available to the host; it is neither transferred nor packed.
enum class Residency : std::uint8_t { kHost, kDevice, kPacked };

enum class TransferPath : std::uint8_t {
  kNone,     ///< The operand is not transferred: it resides on the device, or is not read.
  kStaged,   ///< The host copies it into memory that the device sees, or out of it.
  kCopied,   ///< The host's memory is imported, and the device copies from or to it.
  kInPlace,  ///< The host's memory is imported, and the kernel reads or writes it in place.
};
std::string_view name(TransferPath transfer_path);  // "none", "staged", "copied", "in_place"

/// Transfer paths of A and B, and of C to the device (when beta requires it) and back.
struct TransferPaths {
  TransferPath a = TransferPath::kNone, b = TransferPath::kNone, c_in = TransferPath::kNone,
               c_out = TransferPath::kNone;

  bool operator==(const TransferPaths&) const = default;
};

/// Where the operands are, and how a kernel may access them there.
struct OperandPlaces {
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
  bool c_is_checked = false;  ///< C is checked before the caller gets it.
  /// The most bytes, from an operand's first to its last with the gaps of a submatrix, that a
  /// kernel can reach in place.
  double max_binding_bytes = std::numeric_limits<double>::infinity();
};

/// Bytes of the matrices themselves for the whole batch; B's scales count as B.
struct OperandBytes {
  double a, b, c;
};
OperandBytes operand_bytes(const Problem& p);

struct Transfers {
  TransferPaths transfer_paths = {};
  double in_ns = 0, out_ns = 0;
  double staged_in_ns = 0, staged_out_ns = 0;  ///< Same if everything were staged.
  double link_bytes = 0;                       ///< Bytes that the host or the device copies.

  double ns() const { return in_ns + out_ns; }
  double staged_ns() const { return staged_in_ns + staged_out_ns; }
};
/// One GEMM after the other; the transfer paths are those of the first.
Transfers operator+(const Transfers& first, const Transfers& second);

/// Chooses the transfer paths and predicts their times.
/// - An operand is used in place only if every kernel that could use a staged copy could use it
///   (rows and strides of whole loads).
/// - The device copies an operand only if it is laid out as its staged copy would be.
/// - What the device writes into the host's memory cannot be undone when the device fails. C is
///   therefore written there only where beta is 0, so that the host's answer needs no old C.
Transfers transfers(const Problem& p, const OperandPlaces& places, const DeviceRates& rates);

}  // namespace rooftile
