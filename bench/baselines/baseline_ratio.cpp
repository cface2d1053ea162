#include "bench/baselines/baseline_ratio.h"

#include <vector>

#include "core/error.h"
#include "core/numbers/statistics.h"

namespace rooftile {

BaselineRatio baseline_ratio(const std::string& baseline, std::span<const double> baseline_ns,
                             std::span<const double> tuned_ns, double pack_ns) {
  if (baseline_ns.size() != tuned_ns.size())
    fail(ErrorCode::kInvalidArgument, "{} samples of {} beside {} of the tuned kernel",
         baseline_ns.size(), baseline, tuned_ns.size());
  std::vector<double> kernel, with_packing;
  for (std::size_t i = 0; i < tuned_ns.size(); ++i) {
    kernel.push_back(baseline_ns[i] / tuned_ns[i]);
    with_packing.push_back(baseline_ns[i] / (tuned_ns[i] + pack_ns));
  }
  return {baseline, median(kernel), median(with_packing)};
}

}  // namespace rooftile
