// The seven factors of the dispatch score, each a pure function of predicted times. Every factor is
// t_before / t_after (or its host-side mirror) of one step on the way from the host's roofline to
// the device's real time, so the product telescopes to t_host / t_device and the ns add up to
// t_device - t_host. docs/dispatch-score.md tells each one's story.
#pragma once

#include <array>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// Everything that both predictions consist of, in ns. host_* belong to the host tier that competes
/// with the device.
struct TimeParts {
  double host_roofline = 0;  // flops / peak or bytes / bandwidth
  double host_dense = 0;     // predicted BLAS call
  double host_sparse = 0;    // the same when zeros are skipped
  double host_extra = 0;     // passes over C and fetches from the device that only the host needs
  double device_roofline = 0;
  double kernel = 0;           // predicted kernel
  double submit = 0;           // fixed cost of a submission
  double transfer_staged = 0;  // operands copied over the bus
  double transfer = 0;         // what this kind of device really spends on it
  double pass = 0;             // the host's over C, where the kernel leaves it one
  double guard = 0;            // spot check
  double rerun = 0;            // probability of a re-run x its time

  double host() const { return host_sparse + host_extra; }
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
Factor sparsity(const TimeParts& t);
Factor precision_risk(const TimeParts& t, Vetoed vetoed);

/// In the order of kFactorNames.
std::array<Factor, 7> all_factors(const TimeParts& t, Vetoed vetoed);

}  // namespace rooftile
