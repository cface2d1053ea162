#include "runtime/model/predict.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/groups.h"
#include "runtime/model/nearest_types.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Smoothing of the surface through a host's rates. A rate deviates from a smooth function by its
// own disturbance and by the library's ripple (edges of its blocks, thresholds of its threads),
// together by about the difference between points an octave apart. On the frozen measurements of a
// Xeon, choosing one thread or all costs 1.2 % with and without smoothing, and 2.1 instead of 2.5 %
// when every tenth rate is a third of its true value. 2 and 4 octaves choose equally well but
// predict the times less accurately.
constexpr double kHostSmoothingOctaves = 1;

// Time of a float64 product over that of float32, but for the call: 1.7 to 1.9 from 1e4 flops on
// with all threads and to 2.0 with one, 1.3 at 1e3 and 0.9 below (medians of 150 products; OpenBLAS
// 0.3.21, AVX-512, 2026-11-29).
constexpr double kFloat64Time = 1.8;

// Wave and edge losses of a kernel with this block of C; 1 for tile 1.
double block_efficiency(const Problem& p, int tile_m, int tile_n, double compute_units) {
  if (tile_m == 1 && tile_n == 1) return 1;
  const Waves w = waves(p, {.tile_m = tile_m, .tile_n = tile_n}, compute_units);
  return w.wave_efficiency * w.tile_efficiency;
}

/// Whether a product of one row or column runs as that of the other kind was measured, which was
/// not transposed: BLAS computes both alike, but a matrix whose rows meet the vector (A of one
/// column, a transposed B of one row) unlike one whose columns do.
bool is_turned(const Problem& p) {
  return p.m == 1 ? p.trans_b == Transpose::kYes : p.n == 1 && p.trans_a == Transpose::kYes;
}

}  // namespace

std::size_t HostModel::HashOfSizes::operator()(const Sizes& sizes) const {
  std::uint64_t h = 0;
  for (const double size : sizes)
    h = (h ^ std::bit_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

HostModel::HostModel(const HostRates& rates) { *this = of_tiers({&rates, 1}).front(); }

std::vector<HostModel> HostModel::of_tiers(std::span<const HostRates> tiers) {
  std::vector<HostModel> models(tiers.size());
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) models[tier].take(tiers[tier]);
  fit(models, tiers, &HostRates::gemm, &HostModel::rate_);
  fit(models, tiers, &HostRates::gemv, &HostModel::vector_rate_);
  return models;
}

void HostModel::fit(std::vector<HostModel>& models, std::span<const HostRates> tiers,
                    std::vector<HostPoint> HostRates::*points, Surface HostModel::*surface) {
  struct SameSlots {
    std::vector<LogSizes> places;
    std::vector<std::size_t> tiers;
    std::vector<std::vector<double>> rates;  // log2 of GFLOP/s of each tier.
  };
  std::vector<SameSlots> groups;
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    std::vector<LogSizes> places;
    std::vector<double> rates;
    for (const HostPoint& point : tiers[tier].*points) {
      if (!(point.gflops > 0)) continue;
      places.push_back(log_sizes(point.m, point.n, point.k));
      rates.push_back(std::log2(point.gflops));
    }
    auto group = std::ranges::find(groups, places, &SameSlots::places);
    if (group == groups.end()) group = groups.insert(group, {.places = std::move(places)});
    group->tiers.push_back(tier);
    group->rates.push_back(std::move(rates));
  }
  for (const SameSlots& group : groups) {
    std::vector<Surface> surfaces =
        Surface::through(group.places, group.rates, kHostSmoothingOctaves);
    for (std::size_t i = 0; i < surfaces.size(); ++i)
      models[group.tiers[i]].*surface = std::move(surfaces[i]);
  }
}

void HostModel::take(const HostRates& rates) {
  call_ns_ = rates.call_ns;
  gbps_ = rates.gbps;
  peak_gflops_ = rooftile::peak_gflops(rates);
  measured_.reserve(rates.gemm.size() + rates.gemv.size());
  for (const auto* points : {&rates.gemv, &rates.gemm})
    for (const HostPoint& point : *points) {
      if (!(point.gflops > 0)) continue;
      measured_.try_emplace({point.m, point.n, point.k}, point.gflops);
      const double elements = point.m * point.k + point.k * point.n + point.m * point.n;
      largest_bytes_ = std::max(largest_bytes_, elements * bytes_of(DataType::kF32));
    }
}

double HostModel::gflops(const Problem& p, const LogSizes& sizes) const {
  Sizes exact = {static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k)};
  LogSizes place = sizes;
  if (is_turned(p)) {
    std::swap(exact[0], exact[1]);
    std::swap(place[0], place[1]);
  }
  const auto found = measured_.find(exact);
  if (found != measured_.end()) return found->second;
  const bool of_vectors = (p.m == 1 || p.n == 1) && !vector_rate_.empty();
  return std::exp2((of_vectors ? vector_rate_ : rate_).at(place));
}

bool is_thin_for_host(const Problem& p) {
  constexpr std::int64_t kMostRows = 128, kLeastElements = 1 << 19;
  return p.batch == 1 && std::min(p.m, p.n) <= kMostRows &&
         std::max(p.m, p.n) * p.k >= kLeastElements;
}

double HostModel::predict_ns(const Problem& p, const LogSizes& sizes) const {
  if (!calibrated()) return std::numeric_limits<double>::infinity();
  const Problem one = one_product(p);
  double ns = flops(one) / gflops(p, sizes);
  if (is_float64(p.types)) ns = call_ns_ + kFloat64Time * std::max(ns - call_ns_, 0.0);
  // Within the measured sizes, the measured rate includes cache effects; past the largest, the
  // triad bandwidth bounds the time.
  const double bytes = minimum_bytes(one);
  if (gbps_ > 0 && bytes > largest_bytes_) ns = std::max(ns, bytes / gbps_);
  // The times of float64 sums have the widening of float32 operands.
  const bool widens =
      p.types.a != DataType::kF32 || p.types.c != DataType::kF32 || quantized(p.types);
  if (widens && !is_float64(p.types) && gbps_ > 0) {
    // A float32 BLAS needs widened copies, which are written after a read and read again by the
    // GEMM.
    Problem wide = one;
    wide.types = {};
    ns += (bytes + (is_thin_for_host(p) ? 0 : minimum_bytes(wide))) / gbps_;
  }
  return std::max(call_ns_, ns) * static_cast<double>(p.batch);
}

double HostModel::roofline_ns(const Problem& p) const {
  const double peak = peak_gflops_ / (is_float64(p.types) ? 2 : 1);
  const double math = peak > 0 ? flops(p) / peak : 0;
  const double memory = gbps_ > 0 ? minimum_bytes(p) / gbps_ : 0;
  return std::max(math, memory);
}

TunedModel::TunedModel(const DeviceRates& rates, std::span<const TunedTime> tuned,
                       std::span<const PredictedClass> predicted)
    : rates_(rates) {
  std::vector<std::vector<SurfacePoint>> points;
  for (const TunedTime& t : tuned) {
    const Problem& p = t.problem;
    const double bound = bound_ns(p);
    if (!(flops(p) > 0) || !(bound > 0) || !(t.ns > 0)) continue;
    const double without_blocks =
        t.ns * block_efficiency(p, t.tile_m, t.tile_n, rates_.compute_units);
    auto of_class = std::ranges::find_if(classes_, [&](const Class& c) { return c.holds(p); });
    if (of_class == classes_.end()) {
      classes_.push_back({.types = p.types, .trans_a = p.trans_a, .trans_b = p.trans_b});
      points.emplace_back();
      of_class = classes_.end() - 1;
    }
    points[static_cast<std::size_t>(of_class - classes_.begin())].push_back(
        {log_sizes(p), std::log2(without_blocks / bound)});
    of_class->points.push_back({{p.m, p.n, p.k, p.batch}, t.ns, t.tile_m, t.tile_n});
  }
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    classes_[i].sorted = classes_[i].points;
    std::ranges::stable_sort(classes_[i].sorted, {}, &Tuned::sizes);
    // Epilogues change the kernel but hardly its time, so the first class is used for all.
    const auto of_class = std::ranges::find_if(
        predicted, [&](const PredictedClass& p) { return classes_[i].holds(p.of_class); });
    if (of_class != predicted.end() && of_class->selector != nullptr &&
        of_class->selector->size() > 0) {
      classes_[i].selector = of_class->selector;
    } else {
      classes_[i].loss = Surface(points[i]);
      classes_[i].nearest = NearestPoint(points[i]);
    }
  }
}

const TunedModel::Class* TunedModel::class_of(const Problem& p) const {
  const auto found = std::ranges::find_if(classes_, [&](const Class& c) { return c.holds(p); });
  return found == classes_.end() ? nullptr : &*found;
}

double TunedModel::bound_ns(const Problem& p) const { return problem_bound_ns(p, rates_); }

const TunedModel::Class* TunedModel::nearest_class(const Problem& p) const {
  const auto distance = [&](const Class& c) {
    const bool turned = c.trans_a != p.trans_a || c.trans_b != p.trans_b;
    return std::pair(turned, type_distance(c.types, p.types));
  };
  const auto nearest = std::ranges::min_element(classes_, {}, distance);
  return nearest == classes_.end() ? nullptr : &*nearest;
}

double TunedModel::predict_ns(const Problem& p, const LogSizes& sizes) const {
  if (const Class* const c = class_of(p)) return predict_in(*c, p, sizes);
  const double bound = bound_ns(p);
  const Class* const nearest = nearest_class(p);
  if (nearest == nullptr) return std::max(bound, rates_.dispatch_ns);
  Problem turned = p;
  turned.trans_a = nearest->trans_a;
  turned.trans_b = nearest->trans_b;
  const Problem like = retyped(turned, nearest->types);
  const double bound_like = bound_ns(like);
  if (!(bound_like > 0)) return std::max(bound, rates_.dispatch_ns);
  return std::max(predict_in(*nearest, like, sizes) * bound / bound_like, rates_.dispatch_ns);
}

double TunedModel::predict_in(const Class& c, const Problem& p, const LogSizes& sizes) const {
  const std::array<std::int64_t, 4> exact = {p.m, p.n, p.k, p.batch};
  const auto found = std::ranges::lower_bound(c.sorted, exact, {}, &Tuned::sizes);
  if (found != c.sorted.end() && found->sizes == exact) return found->ns;
  if (c.selector != nullptr)
    return std::max(std::ranges::min(c.selector->predict_ns(p, sizes)), rates_.dispatch_ns);
  const Tuned& nearest = c.points[c.nearest.of(sizes)];
  const double efficiency =
      block_efficiency(p, nearest.tile_m, nearest.tile_n, rates_.compute_units);
  return std::max(bound_ns(p) * std::exp2(c.loss.at(sizes)) / efficiency, rates_.dispatch_ns);
}

double predict_host_ns(const Problem& p, const HostRates& rates) {
  return HostModel(rates).predict_ns(is_grouped(p) ? equal_batch(p, filled_groups(p)) : p);
}

}  // namespace rooftile
