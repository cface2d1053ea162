// What a run says about a tuned kernel beside a yardstick.
#pragma once

#include <span>
#include <string>

namespace rooftile {

/// How fast the tuned kernel is over a yardstick: above 1 it is the faster one. With packing: as if
/// its operands were packed for every product.
struct YardstickRatio {
  std::string yardstick;
  double kernel = 0, with_packing = 0;
};

/// Medians of the ratios of samples; the i-th ones were taken in the same turn. Throws
/// kInvalidArgument for samples that are none or not as many.
YardstickRatio yardstick_ratio(const std::string& yardstick, std::span<const double> yardstick_ns,
                               std::span<const double> tuned_ns, double pack_ns);

}  // namespace rooftile
