// Which tier runs a call: seven factors whose product is t_host / t_device
// (docs/dispatch-score.md). Pure functions of values; nothing here opens a device or a file.
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
#include "runtime/model/predict.h"
#include "runtime/model/roofline.h"
#include "runtime/model/transfer.h"

namespace rooftile {

enum class Tier : std::uint8_t { kDevice, kHost, kHost1, kHost64 };
std::string_view name(Tier tier);  // "device", "host", "host1", "host64"
/// kHost or kHost1, by their predicted times: one thread is asked for only where that saves more
/// than 100 ns.
Tier faster_host(double host_ns, double host1_ns);

enum class Precision : std::uint8_t { kRelaxed, kStandard, kHigh, kExact64 };

/// Why the device is out of the race, for programs; Decision::veto says it to people.
enum class Veto : std::uint8_t {
  kNone,
  kNotTuned,  // no database, or no device in it that is tuned
  kNoKernel,  // of these types, transposes and epilogue
  kDoesNotFit,
  kDeviceGone,  // absent, changed, lost, or the parent's of a forked process
  kFloat64,     // was asked for
  kNothingToMultiply,
  kDeviceNotCalibrated,
  kHostNotCalibrated,
  kOther,
};
std::string_view name(Veto veto);  // "none", "not_tuned", "no_kernel", ...
/// Whether another size of the same product could do without it.
bool depends_on_size(Veto veto);

/// What is asked of the dispatcher for one call.
struct Call {
  Problem problem;
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
  Precision precision = Precision::kStandard;  // kExact64 goes to host64 and nowhere else
  double extra_passes_over_c =
      0;  // epilogue passes (bias, activation, ...) that the host would make separately
  double density =
      1.0;  // share of the work left to a host tier that skips zeros; 1: dense, or it skips none
  // Of a product that the device does in parts, because it is larger than its buffers: how many,
  // and the transfers of all of them. 0 parts: it is done as one.
  double parts = 0;
  Transfers parts_transfers = {};
  // A product that a plain kernel computes in the problem's place, and the time of the host's pass
  // over C after it (runtime/host_pass.h); nothing: the kernel does all.
  std::optional<Problem> before_pass = {};
  double pass_ns = 0;
  // Of the kernel that computes operands that lie on the device, where they lie; nothing: it is
  // chosen for staged copies, and predicted by the model.
  std::optional<double> kernel_ns = {};
  bool c_is_checked = false;                                     // before the caller gets it
  double reach_bytes = std::numeric_limits<double>::infinity();  // of a kernel, in one operand
  double guard_ns = 0;           // cost of a spot check or range scan on the device's result
  double rerun_probability = 0;  // chance that the guard sends the call to the host after all
  std::string device_veto = {};  // reason found outside the model (type, memory, lost device,
                                 // guard); empty: none
  Veto device_veto_name = Veto::kOther;  // of device_veto, where there is one
};

/// A share of t_host / t_device and the time that it stands for.
struct Factor {
  std::string_view name;
  double value = 1;  // > 1 favours the device
  double ns = 0;     // what it adds to t_device - t_host (negative: it favours the device)
};
/// Order of Decision::factors.
inline constexpr std::array<std::string_view, 7> kFactorNames = {
    "size_vs_threshold", "arithmetic_intensity", "gpu_class", "vendor_tuning", "fusion",
    "sparsity",          "precision_risk"};

struct Decision {
  Tier tier = Tier::kHost;
  double device_ns = 0;  // t_device; infinity when vetoed
  double host_ns = 0, host1_ns = 0,
         host64_ns = 0;     // t_host of each tier; infinity when not calibrated
  double best_host_ns = 0;  // t_host: of the host tier that competes with the device
  double submit_ns = 0, upload_ns = 0, kernel_ns = 0,
         download_ns = 0;  // of t_device, with the host's pass, guard and re-runs the rest
  double pass_ns = 0;      // of t_device: the host's pass over C, where no kernel does it
  // Of the transfers of a product in parts what other parts' kernels hide: no part of t_device, nor
  // of upload_ns and download_ns.
  double overlapped_ns = 0;
  Ways ways = {};         // how the operands move; of the first part, if there are several
  double link_bytes = 0;  // of what is copied on the way
  double device_roofline_ns = 0, host_roofline_ns = 0;
  std::array<Factor, 7> factors = {};
  double score = 0;  // best_host_ns / device_ns == product of the factors; 0 when vetoed
  std::string veto;  // empty when the device was in the race
  Veto veto_name = Veto::kNone;
};

/// Calibration and tuned times prepared for decisions in well under a microsecond. Immutable,
/// thread-safe.
class DispatchModel {
 public:
  DispatchModel() = default;
  DispatchModel(const Calibration& calibration, DeviceKind kind, std::span<const TunedTime> tuned,
                std::span<const PredictedClass> predicted = {});

  const DeviceRates& device() const { return device_; }
  DeviceKind kind() const { return kind_; }
  const TunedModel& kernels() const { return kernels_; }
  const HostModel& host(Tier tier) const;  // kHost, kHost1 or kHost64

 private:
  DeviceRates device_;
  DeviceKind kind_ = DeviceKind::kOther;
  TunedModel kernels_;
  HostModel host_, host1_, host64_;
};

/// Fastest tier that may run the call. Without a veto it does not allocate.
Decision decide(const Call& call, const DispatchModel& model);
/// Prepares and decides: for single questions.
Decision decide(const Call& call, const Calibration& calibration, DeviceKind kind,
                std::span<const TunedTime> tuned);

/// What a call has to know of its decision.
struct Choice {
  Tier tier = Tier::kHost;
  double host_ns = 0, host1_ns = 0, best_host_ns = 0;  // Decision's
  // Decision's; infinity as well where submission and transfers alone take as long as the host.
  double device_ns = std::numeric_limits<double>::infinity();
  // Submission, transfers and the roofline of a kernel of the problem's own class, which no tuning
  // beats, whatever vetoes the device, or keeps it from that kernel, today. Infinity where it is
  // not calibrated, or device_ns is for the reason above.
  double least_device_ns = std::numeric_limits<double>::infinity();
  Veto veto_name = Veto::kNone;  // of a device that could have won
};
/// The tier that decide() takes, without what only explains it: kernels are predicted only if the
/// device would win with one that takes no time. ask_device is called where it would win with
/// operands that move in no time, too, and adds to the call what the runtime knows of the device:
/// veto, parts, reach. Does not allocate, ask_device aside.
Choice choose(Call call, const DispatchModel& model,
              const std::function<void(Call&)>& ask_device = {});

/// An element-wise or reduction kernel, which has no tuned time: rooflines, submit and transfers
/// alone.
struct OperationCall {
  Operation operation;
  double upload_bytes = 0, download_bytes = 0;  // what moves because operands lie in host memory
  double fetch_bytes = 0, put_bytes = 0;  // what the host moves, from and to operands on the device
};
/// Fastest tier; host64 never is one.
Decision decide_operation(const OperationCall& call, const DispatchModel& model);

}  // namespace rooftile
