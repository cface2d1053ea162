// Which tier runs a call: seven factors whose product is t_host / t_device
// (docs/score.md). Pure functions of values; nothing here opens a device or a file.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/device_profile.h"
#include "core/problem.h"
#include "runtime/model/calibration.h"
#include "runtime/model/factors.h"
#include "runtime/model/predict.h"
#include "runtime/model/roofline.h"
#include "runtime/model/transfer.h"

namespace rooftile {

/// kSplit: several devices, or devices and the host, each a part of the call (split.h).
enum class Tier : std::uint8_t { kDevice, kHost, kHost1, kHost64, kSplit };
std::string_view name(Tier tier);  // "device", "host", "host1", "host64", "split"
/// Returns kHost or kHost1 by their predicted times. One thread is chosen only where it saves more
/// than 100 ns.
Tier faster_host(double host_ns, double host1_ns);

enum class Precision : std::uint8_t { kRelaxed, kStandard, kHigh, kExact64, kHalf, kInt8 };

/// Why the device cannot be used, as a name for programs; Decision::veto is the text for users.
enum class Veto : std::uint8_t {
  kNone,
  kNotTuned,  ///< There is no database, or no tuned device in it.
  kNoKernel,  ///< No kernel has these types, transposes and epilogue.
  kDoesNotFit,
  kDeviceGone,  ///< Absent, changed, lost, or the parent's in a forked process.
  kFloat64,     ///< No kernel has float64 sums of such operands where they lie.
  kNothingToMultiply,
  kDeviceNotCalibrated,
  kHostNotCalibrated,
  kOther,
};
std::string_view name(Veto veto);  // "none", "not_tuned", "no_kernel", ...
/// Whether another size of the same problem could avoid the veto.
bool depends_on_size(Veto veto);

/// A call and its circumstances, for which a tier is to be chosen.
struct Call {
  Problem problem;
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
  bool host_in_float64 = false;  ///< The host's tier is host64, if that is calibrated.
  /// Epilogue passes (bias, activation, ...) that the host would make separately.
  double extra_passes_over_c = 0;
  /// Number of slices and their transfers, for a call that exceeds the device's buffers. 0: the
  /// call runs as a whole.
  double slices = 0;
  Transfers slice_transfers = {};
  // A product that a plain kernel computes in the problem's place, before a pass of the host over C
  // (runtime/call/pass_over_c.h); nothing: the kernel does all, or the device makes the pass.
  std::optional<Problem> before_pass = {};
  double pass_ns = 0;  // of the host, or of the device where C lies (runtime/call/pass_over_c.h)
  std::string_view pass_over = {};  // operands of the host's pass, as Decision::pass_over
  // Of the kernel that computes operands that lie on the device, where they lie; nothing: it is
  // chosen for staged copies, and predicted by the model.
  std::optional<double> kernel_ns = {};
  bool c_is_checked = false;  ///< C is checked before the caller gets it.
  /// The most bytes of one operand that a kernel can reach in place: the device's binding limit.
  double max_binding_bytes = std::numeric_limits<double>::infinity();
  double guard_ns = 0;           ///< Cost of a spot check or range scan of the device's result.
  double rerun_probability = 0;  ///< Probability that the guard sends the call to the host.
  /// Reason found outside the model (type, memory, lost device, guard); empty: none.
  std::string device_veto = {};
  Veto device_veto_name = Veto::kOther;  ///< Name of device_veto, if there is one.
};

struct Decision {
  Tier tier = Tier::kHost;
  double device_ns = 0;  // t_device; infinity when vetoed
  double host_ns = 0, host1_ns = 0,
         host64_ns = 0;     // t_host of each tier; infinity when not calibrated
  double best_host_ns = 0;  // t_host: of the host tier that competes with the device
  double submit_ns = 0, upload_ns = 0, kernel_ns = 0,
         download_ns = 0;  // of t_device, with the pass, guard and re-runs the rest
  double pass_ns = 0;      // of t_device: the pass over C, where the kernel does not do it
  // Operands of the host's pass: "c", or "b and c" or "a, b and c" where the host also widens
  // operands; empty where there is no such pass.
  std::string_view pass_over = {};
  // Of the transfers of a product in parts what other parts' kernels hide: no part of t_device, nor
  // of upload_ns and download_ns.
  double overlapped_ns = 0;
  TransferPaths transfer_paths =
      {};  ///< Transfer paths of the operands; of the first slice, if there are several.
  double link_bytes = 0;  ///< Bytes copied on these paths.
  std::array<Factor, 7> factors = {};
  double score = 0;  ///< best_host_ns / device_ns, the product of the factors; 0 when vetoed.
  std::string veto;  ///< Empty when the device could be used.
  Veto veto_name = Veto::kNone;
};

/// Calibration and tuned times, prepared for decisions in well under a microsecond. Immutable,
/// thread-safe.
class DispatchModel {
 public:
  DispatchModel() = default;
  DispatchModel(const Calibration& calibration, DeviceKind kind, std::span<const TunedTime> tuned,
                std::span<const PredictedClass> predicted = {});

  const DeviceRates& device() const { return device_; }
  DeviceKind kind() const { return kind_; }
  const TunedModel& kernels() const { return kernels_; }
  const HostModel& host(Tier tier) const;  ///< For kHost, kHost1 or kHost64.

 private:
  DeviceRates device_;
  DeviceKind kind_ = DeviceKind::kOther;
  TunedModel kernels_;
  HostModel host_, host1_, host64_;
};

/// Returns the fastest tier that may run the call. Does not allocate unless there is a veto.
Decision decide(const Call& call, const DispatchModel& model);

/// The part of a decision that a call needs.
struct Choice {
  Tier tier = Tier::kHost;
  double host_ns = 0, host1_ns = 0, best_host_ns = 0;  ///< Same as in Decision.
  /// Same as in Decision, but also infinity where submission and transfers alone take as long as
  /// the host.
  double device_ns = std::numeric_limits<double>::infinity();
  /// Submission, transfers and the roofline of a kernel of the problem's own class, which no tuning
  /// can beat, whatever now vetoes the device or that kernel. Infinity where the device is not
  /// calibrated, or where device_ns is infinity for the reason above.
  double least_device_ns = std::numeric_limits<double>::infinity();
  Veto veto_name = Veto::kNone;  ///< Veto of a device that could have won.
};
/// Same choice as decide(), without building the explanation: kernels are predicted only if the
/// device would win with a kernel that takes no time. ask_device is called where the device would
/// win even with transfers that take no time, and adds what the runtime knows of the device: veto,
/// slices, footprint. Does not allocate, apart from ask_device.
Choice choose(Call call, const DispatchModel& model,
              const std::function<void(Call&)>& ask_device = {});

/// Call of an element-wise or reduction kernel, which has no tuned time: it is predicted by
/// rooflines, submission and transfers alone.
struct OperationCall {
  Operation operation;
  /// Bytes that move because operands lie in host memory.
  double upload_bytes = 0, download_bytes = 0;
  /// Bytes that the host moves from and to operands on the device.
  double fetch_bytes = 0, put_bytes = 0;
};
/// Returns the fastest tier; never host64.
Decision decide_operation(const OperationCall& call, const DispatchModel& model);

}  // namespace rooftile
