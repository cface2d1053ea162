// The seven factors of the dispatch score, each a pure function of predicted times. Every factor is
// t_before / t_after (or its host-side mirror) of one step on the way from the host's roofline to
// the device's real time, so the product telescopes to t_host / t_device and the ns add up to
// t_device - t_host. docs/score.md says what each one means.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rooftile {

/// A share of t_host / t_device, and the time that it stands for.
struct Factor {
  std::string_view name;
  double value = 1;  ///< Above 1 it favours the device.
  double ns = 0;     ///< What it adds to t_device - t_host (negative: it favours the device).
};
/// Order of Decision::factors. "sparsity" is reserved for a tier that skips zeros: its factor is 1.
inline constexpr std::array<std::string_view, 7> kFactorNames = {
    "size_vs_threshold", "arithmetic_intensity", "gpu_class", "vendor_tuning", "fusion",
    "sparsity",          "precision_risk"};

/// All parts of both predictions, in ns. host_* belong to the host tier that competes with the
/// device.
struct TimeParts {
  double host_roofline = 0;  ///< flops / peak or bytes / bandwidth.
  double host_blas = 0;      ///< Predicted BLAS call.
  double host_extra = 0;  ///< Passes over C and transfers from the device that only the host needs.
  double device_roofline = 0;
  double kernel = 0;           ///< Predicted kernel.
  double submit = 0;           ///< Fixed cost of a submission.
  double transfer_staged = 0;  ///< All operands copied over the bus.
  double transfer = 0;         ///< Actual cost of transfers on this kind of device.
  double pass = 0;             ///< The host's pass over C, where the kernel leaves it one.
  double guard = 0;            ///< Spot check.
  double rerun = 0;            ///< Probability of a re-run times its duration.

  double host() const { return host_blas + host_extra; }
  double device_unguarded() const { return submit + transfer + kernel; }
  double device_with_pass() const { return device_unguarded() + pass; }
  double device() const { return device_with_pass() + guard + rerun; }
};

enum class Vetoed : std::uint8_t { kNo, kYes };

Factor size_vs_threshold(const TimeParts& t);
Factor arithmetic_intensity_factor(const TimeParts& t);
Factor gpu_class(const TimeParts& t);
Factor vendor_tuning(const TimeParts& t);
Factor fusion(const TimeParts& t);
Factor precision_risk(const TimeParts& t, Vetoed vetoed);

/// In the order of kFactorNames.
std::array<Factor, 7> all_factors(const TimeParts& t, Vetoed vetoed);

}  // namespace rooftile
