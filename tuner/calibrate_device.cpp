#include <algorithm>
#include <cmath>
#include <limits>

#include "core/clock.h"
#include "core/error.h"
#include "core/statistics.h"
#include "generator/calibration_shaders.h"
#include "tuner/calibrate.h"
#include "tuner/probe.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kSmallestFootprint = 1u << 18;  // bytes of the three STREAM arrays together
constexpr std::uint64_t kLargestFootprint = 1u << 29;
constexpr double kPlateau =
    0.9;  // a footprint belongs to the cache's plateau when it keeps this share of the best rate

class Calibrator {
 public:
  explicit Calibrator(Device& device) : device_(device), limits_(device.profile().limits) {}

  std::vector<Figure> run() {
    latencies();
    multiply_adds();
    other_multiply_adds();
    workgroups_and_barriers();
    shared_memory();
    loads();
    stream();
    transfers();
    return std::move(figures_);
  }

 private:
  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(figure_of(figure, unit, sample));
  }
  std::vector<int> local_sizes() const {
    std::vector<int> sizes;
    for (int size : {static_cast<int>(limits_.subgroup_size), 64, 256})
      if (size <= static_cast<int>(limits_.max_workgroup_invocations) &&
          std::find(sizes.begin(), sizes.end(), size) == sizes.end())
        sizes.push_back(size);
    return sizes;
  }
  std::uint32_t many_groups(int local_size) const {
    return static_cast<std::uint32_t>(262144 / local_size);
  }

  void latencies();
  void multiply_adds();
  void other_multiply_adds();
  void workgroups_and_barriers();
  void shared_memory();
  void loads();
  void load_rate(const std::string& figure, LoadPath load_path, int width);
  void stream();
  std::uint32_t stream_groups(std::uint32_t elements) const;
  std::vector<double> triad_gbps(LoadPath load_path, std::uint64_t footprint);
  std::vector<double> read_gbps(LoadPath load_path, std::uint64_t footprint);
  void transfers();

  Device& device_;
  const DeviceLimits& limits_;
  std::vector<Figure> figures_;
  double units_ = 1;
  int best_local_size_ = 64;  // of the multiply-add kernel; later probes use it
};

void Calibrator::latencies() {
  const Buffer target = device_.create_buffer(4096, BufferUse::kDevice);
  Probe probe(device_, emit_barriers(static_cast<int>(limits_.subgroup_size)));
  const DispatchStep dispatch = {.pipeline = &probe.pipeline(),
                                 .bindings = {{&target}},
                                 .push_constants = bytes_of_block(BarriersPushConstants{0}),
                                 .groups = {1, 1, 1}};
  const auto wall = [&](std::size_t dispatches) {
    CommandList list = device_.record(std::vector<Step>(dispatches, dispatch));
    device_.run(list, kProbeTimeoutNs);
    std::vector<double> sample;
    for (int i = 0; i < 3 * kProbeSamples; ++i) {
      const double start = now_ns();
      device_.run(list, kProbeTimeoutNs);
      sample.push_back(now_ns() - start);
    }
    return sample;
  };
  constexpr std::size_t kChain = 33;
  const std::vector<double> one = wall(1), chain = wall(kChain);
  add("device.submit", "ns", one);
  std::vector<double> each;
  for (double ns : chain)
    each.push_back(std::max(0.0, (ns - median(one)) / static_cast<double>(kChain - 1)));
  add("device.dispatch", "ns", each);
}

void Calibrator::multiply_adds() {
  const Buffer target = device_.create_buffer(262144 * sizeof(float) * 2, BufferUse::kDevice);
  std::vector<double> best = {0.0};
  std::vector<double> units = {1.0};
  for (int local_size : local_sizes()) {
    for (int chains : {2, 3, 8}) {
      Probe probe(device_, emit_fma(DataType::kF32, local_size, chains));
      const std::uint32_t groups = many_groups(local_size) / 8;
      const auto timed = [&](std::uint32_t trips) {
        return probe.times({{&target}}, FmaPushConstants{trips, 0.5f, 1.0f}, groups, 1).front();
      };
      const std::uint32_t trips = long_enough(timed);
      const double flops_a_group = 8.0 * chains * kFmaSteps * local_size * trips;
      const std::vector<double> all =
          probe.times({{&target}}, FmaPushConstants{trips, 0.5f, 1.0f}, groups);
      const std::vector<double> rate = rates(flops_a_group * groups, all);
      if (median(rate) <= median(best)) continue;
      best = rate;
      best_local_size_ = local_size;
      // Time of all over the time of one: how many run at once.
      const double one = median(probe.times({{&target}}, FmaPushConstants{trips, 0.5f, 1.0f}, 1));
      units.clear();
      for (double ns : all) units.push_back(std::max(1.0, groups * one / ns));
    }
  }
  add("device.fma.f32", "gflops", best);
  add("device.compute_units", "count", units);
  units_ = median(units);
}

// Of float16, and of packed dot products: in workgroups as float32 likes them.
void Calibrator::other_multiply_adds() {
  const auto measure = [&](DataType type, float multiplier, double flops_per_step) {
    const std::uint32_t groups = many_groups(best_local_size_) / 8;
    const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
    std::vector<double> best = {0.0};
    for (int chains : {3, 8}) {
      Probe probe(device_, emit_fma(type, best_local_size_, chains));
      const auto timed = [&](std::uint32_t trips) {
        return probe.times({{&target}}, FmaPushConstants{trips, multiplier, 1.0f}, groups, 1)
            .front();
      };
      const std::uint32_t trips = long_enough(timed);
      const double flops = flops_per_step * chains * kFmaSteps * best_local_size_ * trips * groups;
      const std::vector<double> rate =
          rates(flops, probe.times({{&target}}, FmaPushConstants{trips, multiplier, 1.0f}, groups));
      if (median(rate) > median(best)) best = rate;
    }
    return best;
  };
  if (limits_.float16_arithmetic) add("device.fma.f16", "gflops", measure(DataType::kF16, 0.5f, 8));
  if (limits_.integer_dot_product)
    add("device.dot.i8", "gflops", measure(DataType::kI32, 3.0f, 32));
}

void Calibrator::workgroups_and_barriers() {
  const int local_size = static_cast<int>(limits_.subgroup_size) * 2;
  if (local_size > static_cast<int>(limits_.max_workgroup_invocations)) return;
  const std::uint32_t groups = 4096;
  const Buffer target = device_.create_buffer(
      static_cast<std::uint64_t>(groups) * static_cast<std::uint64_t>(local_size) * sizeof(float),
      BufferUse::kDevice);
  Probe probe(device_, emit_barriers(local_size));
  const std::vector<double> none = probe.times({{&target}}, BarriersPushConstants{0}, groups);
  std::vector<double> each_group;
  for (double ns : none) each_group.push_back(ns / groups);
  add("device.workgroup", "ns", each_group);
  const auto timed = [&](std::uint32_t trips) {
    return probe.times({{&target}}, BarriersPushConstants{trips}, groups, 1).front();
  };
  const std::uint32_t trips = long_enough(timed);
  std::vector<double> each;
  for (double ns : probe.times({{&target}}, BarriersPushConstants{trips}, groups))
    each.push_back(std::max(0.0, (ns - median(none)) / trips * units_ / groups));
  add("device.barrier", "ns", each);
}

void Calibrator::shared_memory() {
  const int local_size = std::min(64, static_cast<int>(limits_.max_workgroup_invocations));
  const std::uint32_t groups = many_groups(local_size) / 8;
  const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_shared(local_size));
  const auto timed = [&](std::uint32_t trips) {
    return probe.times({{&target}}, SharedPushConstants{trips}, groups, 1).front();
  };
  const std::uint32_t trips = long_enough(timed);
  const double bytes = 16.0 * kSharedUnroll * local_size * trips * groups;
  add("device.shared", "gbps",
      rates(bytes, probe.times({{&target}}, SharedPushConstants{trips}, groups)));
}

void Calibrator::load_rate(const std::string& figure, LoadPath load_path, int width) {
  const int local_size = best_local_size_;
  const std::uint32_t groups = many_groups(local_size) / 8;
  // A quarter of the smallest first-level caches: 4 kB, or what one trip touches.
  const std::uint32_t window =
      std::max<std::uint32_t>(1024 / static_cast<std::uint32_t>(width),
                              static_cast<std::uint32_t>(local_size * kLoadsUnroll));
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(window) * static_cast<std::uint64_t>(width) * sizeof(float);
  const Buffer source = device_.create_buffer(bytes, BufferUse::kDevice);
  const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_loads(load_path, width, local_size));
  const auto timed = [&](std::uint32_t trips) {
    return probe.times({{&source}, {&target}}, LoadsPushConstants{trips, window}, groups, 1)
        .front();
  };
  const std::uint32_t trips = long_enough(timed);
  const double count = static_cast<double>(kLoadsUnroll) * local_size * trips * groups;
  add(figure, "loads/ns",
      rates(count, probe.times({{&source}, {&target}}, LoadsPushConstants{trips, window}, groups)));
}

void Calibrator::loads() {
  load_rate("device.load.buffer.scalar", LoadPath::kBuffer, 1);
  load_rate("device.load.buffer.vector", LoadPath::kBuffer, 4);
  if (limits_.texel_buffer_r32) load_rate("device.load.texel.scalar", LoadPath::kTexel, 1);
  if (limits_.texel_buffer_rgba32) load_rate("device.load.texel.vector", LoadPath::kTexel, 4);
}

std::uint32_t Calibrator::stream_groups(std::uint32_t elements) const {
  const auto local_size = static_cast<std::uint32_t>(best_local_size_);
  return std::min({many_groups(best_local_size_), std::max(1u, elements / local_size),
                   limits_.max_workgroup_count[0]});
}

std::vector<double> Calibrator::triad_gbps(LoadPath load_path, std::uint64_t footprint) {
  const std::uint64_t bytes = footprint / 3 / 16 * 16;
  const Buffer a = device_.create_buffer(bytes, BufferUse::kDevice),
               b = device_.create_buffer(bytes, BufferUse::kDevice);
  const Buffer c = device_.create_buffer(bytes, BufferUse::kDevice);
  const auto elements = static_cast<std::uint32_t>(bytes / 16);
  Probe probe(device_, emit_stream(load_path, best_local_size_));
  return rates(static_cast<double>(bytes) * 3,
               probe.times({{&a}, {&b}, {&c}}, StreamPushConstants{elements, 3.0f},
                           stream_groups(elements)));
}

std::vector<double> Calibrator::read_gbps(LoadPath load_path, std::uint64_t footprint) {
  const std::uint64_t bytes = footprint / 16 * 16;
  // Few enough invocations that each reads for long: the sums' own traffic stays below a part in
  // sixteen.
  const auto elements = static_cast<std::uint32_t>(bytes / 16);
  const std::uint32_t groups = std::max(1u, stream_groups(elements) / 16);
  const Buffer source = device_.create_buffer(bytes, BufferUse::kDevice);
  const Buffer target = device_.create_buffer(
      std::uint64_t{16} * groups * static_cast<std::uint64_t>(best_local_size_),
      BufferUse::kDevice);
  Probe probe(device_, emit_read(load_path, best_local_size_));
  return rates(static_cast<double>(bytes),
               probe.times({{&source}, {&target}}, ReadPushConstants{elements}, groups));
}

// A level's bandwidth is the best that any of the kernels reaches there: a bound has to be one.
void Calibrator::stream() {
  struct Point {
    std::uint64_t footprint;
    std::vector<double> gbps, triad, read;  // best of all; of each kernel
  };
  const auto better = [](const std::vector<double>& x, const std::vector<double>& y) {
    return y.empty() || median(x) > median(y);
  };
  const std::uint64_t largest =
      std::min({kLargestFootprint, device_.profile().device_memory_bytes / 4,
                limits_.max_storage_buffer_range_bytes, limits_.max_memory_allocation_bytes});
  std::vector<Point> points;
  for (std::uint64_t footprint = kSmallestFootprint; footprint <= largest; footprint *= 4) {
    Point point{.footprint = footprint, .gbps = {}, .triad = {}, .read = {}};
    for (LoadPath load_path : {LoadPath::kBuffer, LoadPath::kTexel}) {
      if (load_path == LoadPath::kTexel &&
          (!limits_.texel_buffer_rgba32 || footprint / 16 > limits_.max_texel_buffer_elements))
        continue;
      if (auto gbps = triad_gbps(load_path, footprint); better(gbps, point.triad))
        point.triad = std::move(gbps);
      if (auto gbps = read_gbps(load_path, footprint); better(gbps, point.read))
        point.read = std::move(gbps);
    }
    point.gbps = better(point.triad, point.read) ? point.triad : point.read;
    points.push_back(std::move(point));
  }
  if (points.empty())
    fail(ErrorCode::kUnsupported, "{} has too little memory to calibrate", device_.profile().name);
  const auto fastest = std::max_element(
      points.begin(), points.end(),
      [](const Point& x, const Point& y) { return median(x.gbps) < median(y.gbps); });
  const Point& memory = points.back();
  if (median(fastest->gbps) * kPlateau > median(memory.gbps)) {
    auto last = fastest;
    for (auto it = fastest; it != points.end(); ++it)
      if (median(it->gbps) >= kPlateau * median(fastest->gbps)) last = it;
    add("device.level.cache.bandwidth", "gbps", fastest->gbps);
    add("device.level.cache.footprint", "bytes", {static_cast<double>(last->footprint)});
  }
  add("device.level.memory.bandwidth", "gbps", memory.gbps);
  add("device.stream.triad", "gbps", memory.triad);
  add("device.stream.read", "gbps", memory.read);
}

// As the runtime moves operands: memcpy into mapped memory, and a copy on the device where that is
// not the kernels' own.
void Calibrator::transfers() {
  constexpr std::uint64_t kBytes = 1u << 24;
  const bool unified = device_.profile().unified_memory;
  const Buffer device_side = device_.create_buffer(kBytes, BufferUse::kDevice);
  std::vector<char> host(kBytes, 1);
  const auto timed = [&](BufferUse use, bool up) {
    const Buffer mapped = unified ? Buffer() : device_.create_buffer(kBytes, use);
    char* const view = static_cast<char*>(unified ? device_side.mapped() : mapped.mapped());
    std::vector<double> gbps;
    for (int i = -1; i < kProbeSamples; ++i) {
      const double start = now_ns();
      if (up) std::memcpy(view, host.data(), kBytes);
      if (!unified) {
        const BufferRange near = {&mapped, 0, kBytes}, far = {&device_side, 0, kBytes};
        CommandList list =
            device_.record(std::vector<Step>{up ? CopyStep{near, far} : CopyStep{far, near}});
        device_.run(list, kProbeTimeoutNs);
      }
      if (!up) std::memcpy(host.data(), view, kBytes);
      if (i >= 0) gbps.push_back(static_cast<double>(kBytes) / (now_ns() - start));
    }
    return gbps;
  };
  add("device.upload", "gbps", timed(BufferUse::kUpload, true));
  add("device.download", "gbps", timed(BufferUse::kDownload, false));
}

}  // namespace

std::vector<Figure> calibrate_device(const std::shared_ptr<Device>& device) {
  return Calibrator(*device).run();
}

}  // namespace rooftile
