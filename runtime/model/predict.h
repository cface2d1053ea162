// Predicted times of one problem on the host and on the device, interpolated from measured ones.
// Models are prepared once and then looked up in constant time; they are immutable and therefore
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/problem.h"
#include "runtime/model/calibration.h"
#include "runtime/model/fit/surface.h"
#include "runtime/model/selector.h"

namespace rooftile {

/// A tuned kernel's measured time, for interpolation within a class (types and transposes).
struct TunedTime {
  Problem problem;
  double ns;  ///< Kernel plus packing, as a call pays it.
  /// The kernel's block of C, for the wave and edge correction; 1: none.
  int tile_m = 1, tile_n = 1;
};

/// The kernels of a class that compete for untuned problems.
struct PredictedClass {
  Problem of_class;  ///< Its sizes do not matter.
  std::shared_ptr<const Selector> selector = nullptr;
};

/// One host tier (docs/model.md).
/// Whether the host widens operands in parts that stay in a processor's cache, instead of all at
/// once: for thin products, of few rows or columns, which take less time than a copy of the large
/// operand (runtime/host/host_tier.cpp).
bool is_thin_for_host(const Problem& p);

class HostModel {
 public:
  HostModel() = default;
  explicit HostModel(const HostRates& rates);
  /// For tiers that were measured on the same sizes, as in calibrations, two or three models are
  /// prepared in little more than the time of one.
  static std::vector<HostModel> of_tiers(std::span<const HostRates> tiers);

  bool calibrated() const { return !rate_.empty(); }
  double call_ns() const { return call_ns_; }
  double gbps() const { return gbps_; }
  double peak_gflops() const { return peak_gflops_; }
  /// Sizes that were measured get the measured rate, others the value of a smooth surface. Infinity
  /// when not calibrated. `sizes` must equal log_sizes(p); callers that ask several models compute
  /// it once.
  double predict_ns(const Problem& p, const LogSizes& sizes) const;
  double predict_ns(const Problem& p) const { return predict_ns(p, log_sizes(p)); }
  /// flops / peak or bytes / triad bandwidth, whichever is longer.
  double roofline_ns(const Problem& p) const;

 private:
  void take(const HostRates& rates);  ///< Takes everything but the surfaces.
  static void fit(std::vector<HostModel>& models, std::span<const HostRates> tiers,
                  std::vector<HostPoint> HostRates::*points, Surface HostModel::*surface);
  double gflops(const Problem& p, const LogSizes& sizes) const;

  double call_ns_ = 0, gbps_ = 0, peak_gflops_ = 0;
  double largest_bytes_ = 0;            ///< Largest size of a measured problem's operands.
  using Sizes = std::array<double, 3>;  ///< m, n, k.
  struct HashOfSizes {
    std::size_t operator()(const Sizes& sizes) const;
  };
  /// GFLOP/s; the first value of a size counts.
  std::unordered_map<Sizes, double, HashOfSizes> measured_;
  Surface rate_;         ///< log2 of GFLOP/s, smoothed.
  Surface vector_rate_;  ///< The same of one row or column; empty: rate_ has them.
};

/// Model of the tuned kernels of one device.
class TunedModel {
 public:
  TunedModel() = default;
  TunedModel(const DeviceRates& rates, std::span<const TunedTime> tuned,
             std::span<const PredictedClass> predicted = {});

  bool has_class(const Problem& p) const { return class_of(p) != nullptr; }
  /// A problem of exactly the sizes of a tuned one: what was measured. Else the shortest time that
  /// its class's selector predicts; without a selector interpolated within the class. When the
  /// class has none: what the nearest class (same transposes, then type_distance) would take, times
  /// the ratio of the two rooflines; where nothing is tuned the roofline alone. Bytes that move to
  /// and from the host are not in it.
  double predict_ns(const Problem& p, const LogSizes& sizes) const;
  double predict_ns(const Problem& p) const { return predict_ns(p, log_sizes(p)); }
  double bound_ns(const Problem& p) const;  ///< problem_bound_ns of the same rates.

 private:
  struct Tuned {
    std::array<std::int64_t, 4> sizes;  ///< m, n, k, batch.
    double ns;
    int tile_m, tile_n;
  };
  struct Class {
    Types types;
    Transpose trans_a, trans_b;
    std::vector<Tuned> sorted;  ///< Sorted by sizes.
    std::shared_ptr<const Selector> selector = nullptr;
    // The members below are set only without a selector.
    Surface loss;          ///< log2 of measured time over bound, with waves and edges taken out.
    NearestPoint nearest;  ///< Nearest of `points`.
    std::vector<Tuned> points;  ///< In the order of the surface's points.

    bool holds(const Problem& p) const {
      return types == p.types && trans_a == p.trans_a && trans_b == p.trans_b;
    }
  };
  const Class* class_of(const Problem& p) const;       // null: nothing of it was tuned
  const Class* nearest_class(const Problem& p) const;  // null: nothing was
  double predict_in(const Class& c, const Problem& p, const LogSizes& sizes) const;

  DeviceRates rates_;
  std::vector<Class> classes_;
};

double predict_host_ns(const Problem& p, const HostRates& rates);

}  // namespace rooftile
