// Predicted times of a few kernels on any problem of their class, from their times on some
// problems. Immutable and therefore thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/measured_time.h"
#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"
#include "runtime/model/fit/surface.h"

namespace rooftile {

/// A kernel's times on problems of one class. Infinity: the kernel cannot run that problem.
struct MeasuredKernel {
  Variant variant;
  std::vector<MeasuredTime> times;
};

/// Model of kernel times. A kernel's time is a sum of terms: launch, workgroups, the work of all
/// compute units and of the busiest one, packing, memory. Each term has a factor, learnt from the
/// kernel's times and shrunk to that of all kernels, which is shrunk to 1 (the calibrated rates),
/// so that few times change little. The residual is interpolated over log sizes (Gaussian process
/// with a rational quadratic kernel, which needs no exponentials; Rasmussen and Williams 2006,
/// 4.2).
class Selector {
 public:
  static constexpr std::size_t kMostKernels = 16;
  using Times = std::array<double, kMostKernels>;

  Selector() = default;
  /// of_class gives types and transposes; its sizes do not matter. Kernels beyond kMostKernels are
  /// left out, as are times that are not positive and finite.
  Selector(const Problem& of_class, const DeviceRates& rates,
           std::span<const MeasuredKernel> kernels);

  std::size_t size() const { return kernels_; }
  /// Returns the ns of each kernel, packing included, in the constructor's order; entries past
  /// size() are infinite. The caller checks whether a kernel is legal. Takes less than a
  /// microsecond and does not allocate. `logs` must equal log_sizes(p); callers that ask several
  /// models compute it once.
  Times predict_ns(const Problem& p, const LogSizes& logs) const;
  Times predict_ns(const Problem& p) const { return predict_ns(p, log_sizes(p)); }

  /// Share in ns of each kernel's predicted time that packs A, and B; 0 for kernels that do not
  /// pack.
  struct Packing {
    Times a_ns, b_ns;
  };
  /// `predicted` must be of the same problem.
  Packing packing_ns(const Problem& p, const Times& predicted) const;

  /// The model as numbers, for programs that predict without this class (embed/header/choose.h). A
  /// kernel's ns are constant + workgroups * (each + k * step) + k * wave * ceil(workgroups *
  /// per_unit) + batch * (m * n * mn + m * k * mk + k * n * kn), times the exponential of the sum
  /// over points of weight * variance / (1 + scale * squared distance in log2 of the sizes).
  struct Coefficients {
    struct Kernel {
      double tile_m, tile_n, tile_batch, split_k;
      double constant, each, step, wave, mn, mk, kn;
    };
    struct Point {
      std::array<float, 4> at;     ///< log2 of m, n, k and batch.
      std::vector<float> weights;  ///< Of each kernel.
    };
    std::vector<Kernel> kernels;
    std::vector<Point> points;
    double per_unit;
    float variance, scale;
  };
  Coefficients coefficients() const;

 private:
  static constexpr std::size_t kTerms = 6;
  static constexpr std::size_t kDispatches = 0, kPanels = 4;  ///< Indices of terms.
  using Terms = std::array<double, kTerms>;
  using LogPoint = std::array<float, 4>;  ///< log2 of m, n, k and batch.
  using Weights = std::array<float, kMostKernels>;

  /// One number for each kernel, contiguous so that the compiler vectorises.
  using Lanes = std::array<double, kMostKernels>;
  /// Properties of the kernels that the terms depend on.
  struct Shapes {
    Lanes tile_m, tile_n, tile_batch, split_k;
    Lanes dispatches;
    Lanes step_ns;  ///< Time of a workgroup for a step of k.
    /// Bytes of packed operands and partial sums, moved for an element of A, B and C.
    Lanes a_bytes, b_bytes, c_bytes;
  };
  struct Sizes {
    double m, n, k, batch;
  };
  struct Timing {
    Terms terms;
    double log_ns;
    std::size_t point;  ///< Index of the point in places.
  };
  using Timings = std::vector<Timing>;

  template <typename Sized>
  static Sizes sizes_of(const Sized& x) {
    return {static_cast<double>(x.m), static_cast<double>(x.n), static_cast<double>(x.k),
            static_cast<double>(x.batch)};
  }
  static LogPoint log_point(const LogSizes& logs, double batch);
  static Terms fit_factors(std::span<const Timing> timings, const Terms& expected, double spread);
  void add_shape(const Variant& v, const Problem& of_class, const DeviceRates& rates);
  Terms terms(std::size_t kernel, const Sizes& sizes) const;
  double sum(std::size_t kernel, const Terms& terms) const;  ///< In ns, each term times its factor.
  void interpolate(std::span<const MeasuredTime> points, std::span<const Timings> timings);

  double dispatch_ns_ = 1, workgroup_ns_ = 1, ns_per_byte_ = 1, per_unit_ = 1;
  double bytes_a_ = 0, bytes_b_ = 0, bytes_c_ = 0;  ///< Bytes of an element.
  std::size_t kernels_ = 0;
  Shapes shapes_ = {};
  std::array<Lanes, kTerms> factors_ = {};
  // Data of the interpolation. places_ holds the points as four arrays.
  std::size_t points_ = 0;
  std::vector<float> places_;
  std::vector<Weights> weights_;  ///< Weights of each point; 0 past the last kernel.
};

}  // namespace rooftile
