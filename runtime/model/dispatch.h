// Seven factors whose product is t_host / t_device (docs/dispatch-score.md). Pure functions of values.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "runtime/model/calibration.h"

namespace rooftile {

enum class Tier : std::uint8_t { kDevice, kHost, kHost1, kHost64 };
std::string_view name(Tier tier);  // "device", "host", "host1", "host64"

enum class Residency : std::uint8_t { kHost, kDevice };
enum class Precision : std::uint8_t { kRelaxed, kStandard, kHigh, kExact64 };

/// What is asked of the dispatcher for one call.
struct Call {
  Problem problem;
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
  double extra_passes_over_c = 0;  // epilogue passes (bias, activation, ...) that the host would make separately
  double density = 1.0;            // share of non-zeros that the host tier could skip by; 1: dense
  double guard_ns = 0;             // cost of a spot check or range scan on the device's result
  double rerun_probability = 0;    // chance that the guard sends the call to the host after all
  std::string device_veto;         // reason found outside the model (type, memory, lost device, guard); empty: none
};

/// A tuned kernel's measured time, for interpolation within a class (type and transposes).
struct TunedTime {
  Problem problem;
  double ns;  // kernel plus packing, as a call pays it
};

struct Factor {
  std::string_view name;  // "size_vs_threshold", "arithmetic_intensity", "gpu_class", "vendor_tuning", "fusion",
                          // "sparsity", "precision_risk"
  double value;           // > 1 favours the device
  double ns;              // what it changes in the device's predicted time (positive: it costs)
};

struct Decision {
  Tier tier = Tier::kHost;
  double device_ns = 0, host_ns = 0, host1_ns = 0;  // predictions; device_ns is infinity when vetoed
  double kernel_ns = 0, upload_ns = 0, download_ns = 0, submit_ns = 0;
  std::array<Factor, 7> factors = {};
  double score = 0;  // product of the factors == host_ns / device_ns; 0 when vetoed
  std::string veto;  // empty when the device was in the race
};

double predict_host_ns(const Problem& p, const HostRates& rates);
/// From tuned times of the same class in log space, corrected by the wave and tile model; from the roofline when there is
/// none. bytes that move are not in it.
double predict_kernel_ns(const Problem& p, const DeviceRates& rates, std::span<const TunedTime> tuned);

Decision decide(const Call& call, const Calibration& calibration, DeviceKind kind, std::span<const TunedTime> tuned);

}  // namespace rooftile
