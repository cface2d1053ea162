#include "generator/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <unordered_set>

#include "generator/layout.h"
#include "generator/memory_access.h"
#include "generator/rules.h"

namespace rooftile {
namespace {

struct Shape {
  int m, n, k;
};

// The multiples of a granularity that are tried: the shapes that units of fixed shapes have.
constexpr std::array<Shape, 5> kFlexibleShapes = {
    {{16, 16, 16}, {16, 8, 16}, {16, 16, 32}, {32, 32, 16}, {32, 16, 16}}};

/// The shapes that the device's matrix units offer, each once whatever its types.
std::vector<Shape> matrix_shapes(const DeviceLimits& limits) {
  std::vector<Shape> shapes;
  const auto add = [&](const Shape& x) {
    const auto same = [&](const Shape& y) { return x.m == y.m && x.n == y.n && x.k == y.k; };
    if (std::ranges::none_of(shapes, same)) shapes.push_back(x);
  };
  for (const MatrixShape& shape : limits.matrix_shapes) add({shape.m, shape.n, shape.k});
  for (const Shape& x : kFlexibleShapes)
    for (const MatrixShape& unit : limits.matrix_granularities)
      if (has_multiple({.matrix_m = x.m, .matrix_n = x.n, .matrix_k = x.k}, unit,
                       limits.max_matrix_dimension))
        add(x);
  return shapes;
}

class Collector {
 public:
  explicit Collector(const DeviceLimits& limits)
      : limits_(limits), shapes_(matrix_shapes(limits)) {}

  void add(const FamilySpace& space) {
    Variant v;
    v.family = space.family;
    std::vector<ParameterValues> varied;
    for (const ParameterValues& parameter : space.parameters)
      if (parameter.values.size() == 1)
        set_parameter(v, parameter.parameter, parameter.values.front());
      else
        varied.push_back(parameter);
    if (space.family != Family::kMatrix) return expand(space, varied, v);
    if (has_workgroup_scope(v) && limits_.workgroup_matrices.empty()) return;
    // A matrix of a whole workgroup is as large as the tile: keep() sets its shape.
    const std::vector<Shape> shapes = has_workgroup_scope(v) ? std::vector<Shape>(1) : shapes_;
    for (const auto& [m, n, k] : shapes) {
      v.matrix_m = m;
      v.matrix_n = n;
      v.matrix_k = k;
      for (std::uint32_t lanes = std::max(1u, limits_.min_subgroup_size);
           lanes <= limits_.max_subgroup_size; lanes *= 2) {
        v.subgroup_size = static_cast<int>(lanes);
        expand(space, varied, v);
      }
    }
  }
  std::vector<Variant> take() { return std::move(variants_); }

 private:
  /// Keeps every combination of the values; those of the first parameter change slowest.
  void expand(const FamilySpace& space, std::span<const ParameterValues> parameters, Variant& v) {
    if (parameters.empty()) return keep(space, v);
    for (const std::string& value : parameters.front().values) {
      set_parameter(v, parameters.front().parameter, value);
      expand(space, parameters.subspan(1), v);
    }
  }

  void keep(const FamilySpace& space, Variant v) {
    if (has_workgroup_scope(v)) {
      v.matrix_m = v.tile_m;
      v.matrix_n = v.tile_n;
      v.matrix_k = v.unroll_k;
    }
    if (illegal_reason(v, limits_)) return;
    if (local_size(v) < space.least_invocations || local_size(v) > space.most_invocations) return;
    if (seen_.insert(to_string(v)).second) variants_.push_back(v);
  }

  const DeviceLimits& limits_;
  const std::vector<Shape> shapes_;
  std::unordered_set<std::string> seen_;
  std::vector<Variant> variants_;
};

}  // namespace

std::vector<Variant> legal_variants(const DeviceLimits& limits) {
  Collector collector(limits);
  for (const FamilySpace& space : space_tables()) collector.add(space);
  return collector.take();
}

// Float16 matrix kernels with shared_pad=16 took 1.01 to 1.6 times as long as with 8 on an H100 and
// an H200. A fixed limit would not do: some of the fastest kernels touch 32 times the fewest lines.
std::optional<std::string> skip_reason(const Variant& v, const DeviceProfile& device,
                                       const Signature& s) {
  if (device.kind == DeviceKind::kSoftware || v.shared_pad == 0) return {};
  Variant less = v;
  less.shared_pad /= 2;
  if (illegal_reason(less, device.limits, s)) return {};
  const auto wavefronts = [&s](const Variant& x) {
    const SharedAccess a = shared_access(x, s, Operand::kA), b = shared_access(x, s, Operand::kB);
    return std::array{a.stores.taken, b.stores.taken, a.loads.taken, b.loads.taken};
  };
  const auto padded = wavefronts(v), with_less = wavefronts(less);
  const bool none_more =
      std::equal(with_less.begin(), with_less.end(), padded.begin(), std::less_equal());
  if (!none_more || with_less == padded) return {};
  const auto sum = [](const auto& all) { return std::accumulate(all.begin(), all.end(), 0); };
  return fmt::format(
      "shared_pad={} needs less shared memory and has fewer bank conflicts ({} wavefronts for a "
      "store and a load of each tile, not {})",
      less.shared_pad, sum(with_less), sum(padded));
}

std::vector<int> splits_for(const Variant& v, const Problem& p, double compute_units) {
  constexpr int kLeastTrips = 4;  // of a part; a shorter one costs as much to start and to add
  const std::int64_t tiles = divide_up(p.m, v.tile_m) * divide_up(p.n, v.tile_n) *
                             divide_up(std::max<std::int64_t>(p.batch, 1), v.tile_batch);
  const std::int64_t most =
      std::min<std::int64_t>(kMostSlices, kernel_depth(v, p.k) / (kLeastTrips * k_step(v)));
  std::vector<int> splits;
  for (const int waves : {1, 2, 4}) {
    const double parts = std::min(
        std::round(compute_units * waves / static_cast<double>(std::max<std::int64_t>(tiles, 1))),
        static_cast<double>(most));
    if (parts < 2) continue;
    if (splits.empty() || splits.back() != static_cast<int>(parts))
      splits.push_back(static_cast<int>(parts));
  }
  return splits;
}

// It has 64 invocations, and Vulkan guarantees 128.
Variant fallback_variant() { return {.family = Family::kNaive, .tile_m = 8, .tile_n = 8}; }

}  // namespace rooftile
