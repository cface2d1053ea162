// Predicted times of a few kernels on any problem of their class, from times on some problems.
// Immutable and therefore thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/measured_time.h"
#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"
#include "runtime/model/surface.h"

namespace rooftile {

/// A kernel's times on problems of one class. Infinity: it cannot run that problem.
struct MeasuredKernel {
  Variant variant;
  std::vector<MeasuredTime> times;
};

/// A kernel's time is a sum of terms: launch, workgroups, the work of all and of the busiest
/// compute unit, packing, memory. Each has a factor, learnt from the kernel's times and drawn to
/// that of all kernels, which is drawn to 1 (the calibrated rates): few times change little. What
/// the sum misses is interpolated over log sizes (Gaussian process with a rational quadratic
/// kernel, which needs no exponentials; Rasmussen and Williams 2006, 4.2).
class Selector {
 public:
  static constexpr std::size_t kMostKernels = 16;
  using Times = std::array<double, kMostKernels>;

  Selector() = default;
  /// of_class: types and transposes; its sizes do not matter. Kernels beyond kMostKernels are left
  /// out, as are times that are not positive and finite.
  Selector(const Problem& of_class, const DeviceRates& rates,
           std::span<const MeasuredKernel> kernels);

  std::size_t size() const { return kernels_; }
  /// ns of each kernel, packing included, in the constructor's order; those past size() are
  /// infinite. Whether a kernel is legal is the caller's to ask. Below a microsecond, and does not
  /// allocate. logs == log_sizes(p), which callers that ask several models compute once.
  Times predict_ns(const Problem& p, const LogSizes& logs) const;
  Times predict_ns(const Problem& p) const { return predict_ns(p, log_sizes(p)); }

  /// How much of each kernel's predicted time packs A, and B; 0 for kernels that do not.
  struct Packing {
    Times a_ns, b_ns;
  };
  /// predicted: of the same problem.
  Packing packing_ns(const Problem& p, const Times& predicted) const;

 private:
  static constexpr std::size_t kTerms = 6;
  static constexpr std::size_t kDispatches = 0, kPanels = 4;  // of the terms
  using Terms = std::array<double, kTerms>;
  using Place = std::array<float, 4>;  // log2 of m, n, k and batch
  using Weights = std::array<float, kMostKernels>;

  /// One number of each kernel: side by side, so that the compiler makes vectors of them.
  using Lanes = std::array<double, kMostKernels>;
  /// What the terms of the kernels depend on.
  struct Shapes {
    Lanes tile_m, tile_n, tile_batch, split_k;
    Lanes dispatches;
    Lanes step_ns;                    // of a workgroup, a step of k
    Lanes a_bytes, b_bytes, c_bytes;  // of panels and parts, moved for an element of A, B and C
  };
  struct Sizes {
    double m, n, k, batch;
  };
  struct Timing {
    Terms terms;
    double log_ns;
    std::size_t point;  // where: an index of places
  };
  using Timings = std::vector<Timing>;

  template <typename Sized>
  static Sizes sizes_of(const Sized& x) {
    return {static_cast<double>(x.m), static_cast<double>(x.n), static_cast<double>(x.k),
            static_cast<double>(x.batch)};
  }
  static Place place_of(const LogSizes& logs, double batch);
  static Terms fit_factors(std::span<const Timing> timings, const Terms& expected, double spread);
  void add_shape(const Variant& v, const Problem& of_class, const DeviceRates& rates);
  Terms terms(std::size_t kernel, const Sizes& sizes) const;
  double sum(std::size_t kernel, const Terms& terms) const;  // ns, each term times its factor
  void interpolate(std::span<const MeasuredTime> points, std::span<const Timings> timings);

  double dispatch_ns_ = 1, workgroup_ns_ = 1, ns_per_byte_ = 1, per_unit_ = 1;
  double bytes_a_ = 0, bytes_b_ = 0, bytes_c_ = 0;  // of an element
  std::size_t kernels_ = 0;
  Shapes shapes_ = {};
  std::array<Lanes, kTerms> factors_ = {};
  // Of the interpolation: places as four arrays of points.
  std::size_t points_ = 0;
  std::vector<float> places_;
  std::vector<Weights> weights_;  // of each point; 0 past the last kernel
};

}  // namespace rooftile
