#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/error.h"
#include "runtime/model/calibration.h"
#include "runtime/model/fit/plateaus.h"
#include "tuner/calibrate/calibrator.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kSmallestFootprint = 1u << 15;  // Bytes of all arrays together.
constexpr std::uint64_t kLargestFootprint = 1u << 29;
// Measured even if the time is up: larger than the caches of all but the largest devices.
constexpr std::uint64_t kAlwaysFootprint = 1u << 27;
// Device memory is measured on this multiple of the largest cache, as STREAM requires.
constexpr std::uint64_t kPastCaches = 4;

/// Returns GB/s, the best of a few runs, because disturbances only make them slower. Long runs are
/// made once.
double gbps_of(std::optional<StreamRun> run) {
  constexpr double kLongNs = 5e6;
  constexpr int kFewSamples = 3;
  double best = 0;
  for (int i = 0; run && i < (run->ns() < kLongNs ? kFewSamples : 1); ++i)
    best = std::max(best, run->take().value);
  return best;
}

/// The better load path of a kernel, and its rate; 0: no path is possible.
struct Best {
  LoadPath path = LoadPath::kBuffer;
  double gbps = 0;
};
Best best_of(const std::function<std::optional<StreamRun>(LoadPath)>& run) {
  Best best;
  for (LoadPath path : {LoadPath::kBuffer, LoadPath::kTexel})
    if (const double gbps = gbps_of(run(path)); gbps > best.gbps) best = {path, gbps};
  return best;
}

/// A read also has the better order.
struct BestRead : Best {
  ReadOrder order = ReadOrder::kSideBySide;
};
BestRead best_read(StreamBench& bench, std::uint64_t footprint) {
  BestRead best;
  for (const ReadOrder order : {ReadOrder::kSideBySide, ReadOrder::kPieces})
    if (const Best of_order =
            best_of([&](LoadPath path) { return bench.read(path, order, footprint); });
        of_order.gbps > best.gbps)
      best = {of_order, order};
  return best;
}

/// Measurements at one footprint.
struct Point {
  std::uint64_t footprint = 0;
  Best triad;
  BestRead read;

  double gbps() const { return std::max(triad.gbps, read.gbps); }
};

/// Returns the point at which a level's kernels are measured: the fastest point of a cache, or a
/// point well beyond the caches for memory.
const Point& operand_slot_of(std::span<const Point> level, std::uint64_t caches_bytes,
                             bool memory) {
  if (!memory) return *std::ranges::max_element(level, {}, &Point::gbps);
  const std::uint64_t wanted = std::max(kAlwaysFootprint / 2, kPastCaches * caches_bytes);
  for (const Point& point : level)
    if (point.footprint >= wanted) return point;
  return level.back();
}

}  // namespace

// Finds the levels by triad and reads over growing footprints, then samples all kernels on each
// level in the rounds.
void Calibrator::stream(double end_s) {
  const std::uint64_t largest =
      std::min({kLargestFootprint, device_.profile().device_memory_bytes / 4,
                limits_.max_memory_allocation_bytes / 2,
                2 * limits_.max_storage_buffer_range_bytes});  // A copy uses two arrays.
  if (largest < kSmallestFootprint)
    fail(ErrorCode::kUnsupported, "{} has too little memory to calibrate", device_.profile().name);
  stream_bench_ = std::make_unique<StreamBench>(device_, largest, best_local_size_);
  StreamBench& bench = *stream_bench_;
  std::vector<Point> points;
  std::vector<BandwidthPoint> curve;
  for (std::uint64_t footprint = kSmallestFootprint; footprint <= largest; footprint *= 2) {
    if (footprint > kAlwaysFootprint && now_s() > end_s) break;
    const Point point{.footprint = footprint,
                      .triad = best_of([&](LoadPath path) {
                        return bench.stream(Stream::kTriad, path, footprint);
                      }),
                      .read = best_read(bench, footprint)};
    if (point.gbps() == 0) break;  // The footprint exceeds what can be bound at once.
    curve.push_back({static_cast<double>(footprint), point.gbps()});
    points.push_back(point);
  }
  const std::vector<Plateau> plateaus = find_plateaus(curve);
  std::uint64_t caches_bytes = 0;
  for (std::size_t i = 0; i < plateaus.size(); ++i) {
    const auto [first, last] = plateaus[i];
    const bool memory = i + 1 == plateaus.size();
    const Point& at =
        operand_slot_of(std::span(points).subspan(first, last - first + 1), caches_bytes, memory);
    caches_bytes = points[last].footprint;
    Level& level = levels_.emplace_back(Level{level_name(i, plateaus.size()), {}});
    const auto keep = [&](std::string_view kernel, std::optional<StreamRun> run) {
      if (!run) return;
      StreamRun& kept = stream_runs_.emplace_back(std::move(*run));
      level.figures.push_back(
          fmt::format("device.stream.{}{}", kernel, memory ? "" : "." + level.name));
      sample(level.figures.back(), "gbps", [&kept, memory] {
        // Refills the cache, which earlier samples have filled with other data.
        if (!memory) kept.take();
        return kept.take();
      });
    };
    for (const Stream kernel : kStreams) {
      std::optional<StreamRun> run = bench.stream(kernel, at.triad.path, at.footprint);
      keep(name(kernel),
           run ? std::move(run) : bench.stream(kernel, LoadPath::kBuffer, at.footprint));
    }
    keep("read", bench.read(at.read.path, at.read.order, at.footprint));
    if (!memory)
      figures_.push_back({fmt::format("device.level.{}.footprint", level.name), "bytes",
                          static_cast<double>(points[last].footprint), 0, last - first + 1});
  }
}

// A level's bandwidth is the best of all its kernels, because it serves as a bound. On a processor
// the nearest cache also serves loads from a small window, and keeps blocks from one workgroup to
// the next; a GPU's first level does not.
void Calibrator::level_bandwidths() {
  const bool on_processor = device_.profile().kind == DeviceKind::kSoftware;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const bool nearest_cache = i == 0 && levels_.size() > 1;
    Figure best;
    const auto consider = [&](const std::string& name, double bytes) {
      const Figure* const figure = found(name);
      if (figure == nullptr || figure->value * bytes <= best.value) return;
      best = *figure;
      best.value *= bytes;
      best.mad *= bytes;
    };
    for (const std::string& name : levels_[i].figures) consider(name, 1);
    if (nearest_cache && on_processor)
      for (const char* path : {"buffer", "texel"}) {
        consider(fmt::format("device.load.{}.vector", path), 4 * sizeof(float));
        consider(fmt::format("device.load.{}.scalar", path), sizeof(float));
      }
    if (best.value == 0) continue;
    best.name = fmt::format("device.level.{}.bandwidth", levels_[i].name);
    best.unit = "gbps";
    figures_.push_back(std::move(best));
  }
}

}  // namespace rooftile
