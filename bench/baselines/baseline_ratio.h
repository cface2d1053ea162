// Ratio of a tuned kernel's speed to a baseline's.
#pragma once

#include <span>
#include <string>

namespace rooftile {

/// Speed of the tuned kernel over that of a baseline; above 1 the tuned kernel is faster.
/// with_packing counts packing as if operands were packed in every call.
struct BaselineRatio {
  std::string baseline;
  double kernel = 0, with_packing = 0;
};

/// Medians of the ratios of samples, whose i-th elements were measured in the same round. Throws
/// kInvalidArgument when the samples are empty or differ in number.
BaselineRatio baseline_ratio(const std::string& baseline, std::span<const double> baseline_ns,
                             std::span<const double> tuned_ns, double pack_ns);

}  // namespace rooftile
