#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/statistics.h"
#include "runtime/model/calibration.h"
#include "runtime/model/plateaus.h"
#include "tuner/calibrator.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kSmallestFootprint = 1u << 15;  // bytes of all arrays together
constexpr std::uint64_t kLargestFootprint = 1u << 29;
constexpr std::uint64_t kVectorBytes = 16;
constexpr std::uint64_t kPage = 4096;
// From the end of an array to the next: at equal places of their pages, stores hold up the loads
// behind them on many processors. A multiple of every alignment that Vulkan allows a device to ask.
constexpr std::uint64_t kSkew = 1280;
constexpr std::uint64_t kMovedBytes = 1u << 24;  // by a sample at least, in passes; more
constexpr double kEnoughNs = 0.5e6;              // until it is as long as this
constexpr int kCurveSamples = 3;  // of a point; a level's own figures have kProbeSamples
constexpr std::uint32_t kInvocations = 262144;  // at most: enough for every device
// Of them those that read only: the sums that they write stay below a part in sixteen.
constexpr std::uint32_t kReaders = kInvocations / 16;

using Sample = std::vector<double>;  // GB/s

double middle(const Sample& sample) { return sample.empty() ? 0 : median(sample); }

/// STREAM kernels, and one that only reads, on slices of one buffer.
class StreamBench {
 public:
  StreamBench(Device& device, std::uint64_t largest, int local_size)
      : device_(device),
        local_size_(local_size),
        pool_(device.create_buffer(largest + 3 * kSkew, BufferUse::kDevice)),
        sums_(device.create_buffer(kVectorBytes * kInvocations, BufferUse::kDevice)) {}

  Sample gbps(Stream kernel, LoadPath load_path, std::uint64_t footprint, int samples) {
    const int arrays = arrays_moved(kernel);
    const std::uint64_t bytes = footprint / static_cast<std::uint64_t>(arrays) / kPage * kPage;
    if (!fits(load_path, bytes) || !fits(LoadPath::kBuffer, bytes)) return {};  // c is no texels
    auto& probe = probes_[{static_cast<int>(kernel), load_path}];
    if (!probe) probe.emplace(device_, emit_stream(kernel, load_path, local_size_));
    const auto slice = [&](std::uint64_t i) {
      return BufferRange{&pool_, i * (bytes + kSkew), bytes};
    };
    const auto elements = static_cast<std::uint32_t>(bytes / kVectorBytes);
    // Two arrays of three where there are two: the third binding is not read.
    return sample(*probe, {slice(0), slice(arrays == 3 ? 1 : 0), slice(arrays == 3 ? 2 : 1)},
                  groups(elements, kInvocations), bytes * static_cast<std::uint64_t>(arrays),
                  samples, [&](std::uint32_t passes) {
                    return StreamPushConstants{elements, passes, 3.0f};
                  });
  }

  Sample read_gbps(LoadPath load_path, std::uint64_t footprint, int samples) {
    if (!fits(load_path, footprint)) return {};
    auto& probe = probes_[{-1, load_path}];
    if (!probe) probe.emplace(device_, emit_read(load_path, local_size_));
    const auto elements = static_cast<std::uint32_t>(footprint / kVectorBytes);
    return sample(*probe, {{&pool_, 0, footprint}, {&sums_}}, groups(elements, kReaders), footprint,
                  samples, [&](std::uint32_t passes) {
                    return ReadPushConstants{elements, passes};
                  });
  }

 private:
  bool fits(LoadPath load_path, std::uint64_t bytes) const {
    const DeviceLimits& limits = device_.profile().limits;
    if (load_path == LoadPath::kBuffer) return bytes <= limits.max_storage_buffer_range_bytes;
    return limits.texel_buffer_rgba32 && bytes / kVectorBytes <= limits.max_texel_buffer_elements;
  }
  std::uint32_t groups(std::uint32_t elements, std::uint32_t most_invocations) const {
    const auto local_size = static_cast<std::uint32_t>(local_size_);
    return std::min({most_invocations / local_size, std::max(1u, elements / local_size),
                     device_.profile().limits.max_workgroup_count[0]});
  }
  template <typename Push>
  Sample sample(Probe& probe, const std::vector<BufferRange>& bindings, std::uint32_t groups,
                std::uint64_t bytes, int samples, const Push& push) {
    std::uint64_t passes = std::max<std::uint64_t>(1, kMovedBytes / bytes);
    std::vector<double> ns;
    while (true) {
      ns = probe.times(bindings, push(static_cast<std::uint32_t>(passes)), groups, samples);
      constexpr std::uint64_t kMostPasses = 1u << 12;  // of few trips each
      if (median(ns) >= kEnoughNs || passes >= kMostPasses) break;
      passes *= 4;
    }
    return rates(static_cast<double>(bytes * passes), ns);
  }

  Device& device_;
  int local_size_;
  Buffer pool_, sums_;
  std::map<std::pair<int, LoadPath>, std::optional<Probe>> probes_;
};

/// One footprint: the better load path of each kernel.
struct Point {
  std::uint64_t footprint = 0;
  LoadPath stream_path = LoadPath::kBuffer, read_path = LoadPath::kBuffer;
  Sample triad, read;

  const Sample& best() const { return middle(triad) > middle(read) ? triad : read; }
};

}  // namespace

// Triad and reads over growing footprints find the levels; on each, the other kernels are measured,
// too. A level's bandwidth is the best of them all: a bound has to be one.
void Calibrator::stream() {
  const std::uint64_t largest =
      std::min({kLargestFootprint, device_.profile().device_memory_bytes / 4,
                limits_.max_memory_allocation_bytes / 2,
                2 * limits_.max_storage_buffer_range_bytes});  // copy: two arrays
  if (largest < kSmallestFootprint)
    fail(ErrorCode::kUnsupported, "{} has too little memory to calibrate", device_.profile().name);
  StreamBench bench(device_, largest, best_local_size_);
  std::vector<Point> points;
  std::vector<BandwidthPoint> curve;
  for (std::uint64_t footprint = kSmallestFootprint; footprint <= largest; footprint *= 2) {
    Point point{.footprint = footprint, .triad = {}, .read = {}};
    for (LoadPath load_path : {LoadPath::kBuffer, LoadPath::kTexel}) {
      if (Sample gbps = bench.gbps(Stream::kTriad, load_path, footprint, kCurveSamples);
          middle(gbps) > middle(point.triad)) {
        point.triad = std::move(gbps);
        point.stream_path = load_path;
      }
      if (Sample gbps = bench.read_gbps(load_path, footprint, kCurveSamples);
          middle(gbps) > middle(point.read)) {
        point.read = std::move(gbps);
        point.read_path = load_path;
      }
    }
    if (point.best().empty()) break;  // past what can be bound at once
    curve.push_back({static_cast<double>(footprint), middle(point.best())});
    points.push_back(std::move(point));
  }
  const std::vector<Plateau> plateaus = find_plateaus(curve);
  for (std::size_t i = 0; i < plateaus.size(); ++i) {
    const auto [first, last] = plateaus[i];
    const bool memory = i + 1 == plateaus.size();
    const Point& at =
        memory ? points[last]
               : *std::max_element(points.begin() + static_cast<std::ptrdiff_t>(first),
                                   points.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                   [](const Point& x, const Point& y) {
                                     return middle(x.best()) < middle(y.best());
                                   });
    const std::string level = level_name(i, plateaus.size());
    Sample best;
    const auto keep = [&](std::string_view kernel, const Sample& gbps) {
      if (gbps.empty()) return;
      add(fmt::format("device.stream.{}{}", kernel, memory ? "" : "." + level), "gbps", gbps);
      if (middle(gbps) > middle(best)) best = gbps;
    };
    for (const Stream kernel : kStreams) {
      Sample gbps = bench.gbps(kernel, at.stream_path, at.footprint, kProbeSamples);
      if (gbps.empty()) gbps = bench.gbps(kernel, LoadPath::kBuffer, at.footprint, kProbeSamples);
      keep(name(kernel), gbps);
    }
    keep("read", bench.read_gbps(at.read_path, at.footprint, kProbeSamples));
    add(fmt::format("device.level.{}.bandwidth", level), "gbps", best);
    if (!memory)
      figures_.push_back({fmt::format("device.level.{}.footprint", level), "bytes",
                          static_cast<double>(points[last].footprint), 0, last - first + 1});
  }
}

}  // namespace rooftile
