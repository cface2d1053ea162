#include "runtime/model/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "generator/layout.h"
#include "runtime/model/gpu/gpu_generation.h"

namespace rooftile {
namespace {

struct DeviceFigure {
  std::string_view name, unit;
  double DeviceRates::*value;
};
constexpr DeviceFigure kDeviceFigures[] = {
    {"device.submit", "ns", &DeviceRates::submit_ns},
    {"device.dispatch", "ns", &DeviceRates::dispatch_ns},
    {"device.workgroup", "ns", &DeviceRates::workgroup_ns},
    {"device.workgroup.synchronised", "ns", &DeviceRates::synchronised_workgroup_ns},
    {"device.barrier", "ns", &DeviceRates::barrier_ns},
    {"device.loop.overrun", "trips", &DeviceRates::loop_overrun},
    {"device.upload", "gbps", &DeviceRates::upload_gbps},
    {"device.download", "gbps", &DeviceRates::download_gbps},
    {"device.fetch", "ns", &DeviceRates::fetch_ns},
    {"device.fma.f32", "gflops", &DeviceRates::fma_gflops},
    {"device.fma.synchronised", "gflops", &DeviceRates::synchronised_fma_gflops},
    {"device.fma.f16", "gflops", &DeviceRates::fma_f16_gflops},
    {"device.fma.f64", "gflops", &DeviceRates::fma_f64_gflops},
    {"device.dot.i8", "gflops", &DeviceRates::dot_gflops},
    {"device.matrix.f16.f32", "gflops", &DeviceRates::matrix_f16_gflops},
    {"device.matrix.f16.f16", "gflops", &DeviceRates::matrix_f16_f16_gflops},
    {"device.matrix.bf16.f32", "gflops", &DeviceRates::matrix_bf16_gflops},
    {"device.matrix.i8.i32", "gflops", &DeviceRates::matrix_i8_gflops},
    {"device.matrix.u8.i32", "gflops", &DeviceRates::matrix_u8_gflops},
    {"device.shared", "gbps", &DeviceRates::shared_gbps},
    {"device.load.buffer.scalar", "loads/ns", &DeviceRates::buffer_loads_per_ns},
    {"device.load.buffer.vector", "loads/ns", &DeviceRates::buffer_vector_loads_per_ns},
    {"device.load.texel.scalar", "loads/ns", &DeviceRates::texel_loads_per_ns},
    {"device.load.texel.vector", "loads/ns", &DeviceRates::texel_vector_loads_per_ns},
    {"device.store.buffer.scalar", "stores/ns", &DeviceRates::buffer_stores_per_ns},
    {"device.store.buffer.vector", "stores/ns", &DeviceRates::buffer_vector_stores_per_ns},
    {"device.store.c.scalar", "stores/ns", &DeviceRates::c_stores_per_ns},
    {"device.store.c.vector", "stores/ns", &DeviceRates::c_vector_stores_per_ns},
    {"device.broadcast", "vectors/ns", &DeviceRates::broadcasts_per_ns},
    {"device.load.latency", "ns", &DeviceRates::load_latency_ns},
    {"device.compute_units", "count", &DeviceRates::compute_units},
    {"device.import.least", "ns", &DeviceRates::import_ns},
    {"device.import.growth", "ns/byte", &DeviceRates::import_growth_ns},
    {"device.import.upload", "gbps", &DeviceRates::import_upload_gbps},
    {"device.import.download", "gbps", &DeviceRates::import_download_gbps},
    {"device.import.read.extra", "ns/byte", &DeviceRates::import_read_extra_ns},
    {"device.import.write.extra", "ns/byte", &DeviceRates::import_write_extra_ns},
    {"device.overlap", "share", &DeviceRates::overlap},
};
constexpr std::string_view kLevel = "device.level.", kBandwidth = ".bandwidth",
                           kFootprint = ".footprint";

struct HostTier {
  std::string_view name;
  HostRates Calibration::*rates;
};
constexpr std::string_view kVector = "vector.";
constexpr HostTier kHostTiers[] = {{"threads", &Calibration::host},
                                   {"single", &Calibration::host1},
                                   {"float64", &Calibration::host64}};

void add(std::vector<Figure>& figures, std::string name, std::string_view unit, double value) {
  if (value != 0)
    figures.push_back(
        {.name = std::move(name), .unit = std::string(unit), .value = value, .count = 1});
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}
bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// Parses "512x64x1000". Returns false for anything else; the point may then be partly filled.
bool parse_sizes(std::string_view text, HostPoint& point) {
  const char* const end = text.data() + text.size();
  const char* next = text.data();
  for (double* size : {&point.m, &point.n, &point.k}) {
    if (size != &point.m && (next == end || *next++ != 'x')) return false;
    std::uint64_t whole = 0;  // emscripten's library on Debian 13 reads no floating-point numbers
    const auto [after, error] = std::from_chars(next, end, whole);
    if (error != std::errc()) return false;
    *size = static_cast<double>(whole);
    next = after;
  }
  return next == end;
}

MemoryLevel& level_named(std::vector<MemoryLevel>& levels, std::string_view name) {
  const auto found = std::ranges::find(levels, name, &MemoryLevel::name);
  if (found != levels.end()) return *found;
  return levels.emplace_back(MemoryLevel{.name = std::string(name)});
}

void read_device(const Figure& figure, DeviceRates& rates) {
  std::string_view name = figure.name;
  for (const DeviceFigure& known : kDeviceFigures)
    if (name == known.name) rates.*known.value = figure.value;
  if (!take_prefix(name, kLevel)) return;
  if (take_suffix(name, kBandwidth))
    level_named(rates.levels, name).gbps = figure.value;
  else if (take_suffix(name, kFootprint))
    level_named(rates.levels, name).footprint_bytes = figure.value;
}

void read_host(const Figure& figure, Calibration& c) {
  for (const HostTier& tier : kHostTiers) {
    HostRates& rates = c.*tier.rates;
    std::string_view name = figure.name;
    if (!take_prefix(name, "host.")) return;
    if (name == fmt::format("call.{}", tier.name)) rates.call_ns = figure.value;
    if (name == fmt::format("bandwidth.{}", tier.name)) rates.gbps = figure.value;
    if (name == fmt::format("fma.{}", tier.name)) rates.fma_gflops = figure.value;
    HostPoint point{.gflops = figure.value};
    if (!take_prefix(name, fmt::format("gemm.{}.", tier.name))) continue;
    auto& points = take_prefix(name, kVector) ? rates.gemv : rates.gemm;
    if (parse_sizes(name, point)) points.push_back(point);
  }
}

double ratio(double device, double host) { return host > 0 ? device / host : 0; }

}  // namespace

std::string host_figure(std::string_view tier, bool is_vector, const HostPoint& point) {
  return fmt::format("{}{}.{}{:.0f}x{:.0f}x{:.0f}", kHostGridPrefix, tier, is_vector ? kVector : "",
                     point.m, point.n, point.k);
}

std::vector<Figure> to_figures(const Calibration& c) {
  std::vector<Figure> figures;
  for (const DeviceFigure& known : kDeviceFigures)
    add(figures, std::string(known.name), known.unit, c.device.*known.value);
  for (const MemoryLevel& level : c.device.levels) {
    add(figures, fmt::format("{}{}{}", kLevel, level.name, kBandwidth), "gbps", level.gbps);
    if (std::isfinite(level.footprint_bytes))
      add(figures, fmt::format("{}{}{}", kLevel, level.name, kFootprint), "bytes",
          level.footprint_bytes);
  }
  for (const HostTier& tier : kHostTiers) {
    const HostRates& rates = c.*tier.rates;
    add(figures, fmt::format("host.call.{}", tier.name), "ns", rates.call_ns);
    add(figures, fmt::format("host.bandwidth.{}", tier.name), "gbps", rates.gbps);
    add(figures, fmt::format("host.fma.{}", tier.name), "gflops", rates.fma_gflops);
    for (const bool is_vector : {false, true})
      for (const HostPoint& p : is_vector ? rates.gemv : rates.gemm)
        add(figures, host_figure(tier.name, is_vector, p), "gflops", p.gflops);
  }
  return figures;
}

Calibration calibration_from_figures(std::span<const Figure> figures) {
  Calibration c;
  for (const Figure& figure : figures) {
    read_device(figure, c.device);
    read_host(figure, c);
  }
  // The database may return the figures in any order.
  std::ranges::stable_sort(c.device.levels, {}, &MemoryLevel::footprint_bytes);
  return c;
}

bool is_calibrated(const DeviceRates& rates) {
  return rates.submit_ns > 0 && rates.fma_gflops > 0 && memory_gbps(rates) > 0;
}

DeviceRates published_rates(const GpuGeneration& gpu, std::uint32_t compute_units) {
  // Bytes that a compute unit moves in a clock from shared memory, which has 32 banks of 4 bytes,
  // and from the cache behind its first one: "RDNA Architecture", AMD 2019; "AMD CDNA 2
  // Architecture", AMD 2021; "CUDA C++ Programming Guide", shared memory. Intel's are taken to be
  // the same. That the second is lower puts tiles in shared memory before loads of fragments.
  constexpr double kSharedBytes = 128, kCacheBytes = 64;
  // A vector has four components, and lanes exchange values at a quarter of the rate of other
  // instructions: "CUDA C++ Programming Guide", throughput of warp shuffles.
  constexpr double kBroadcastInstructions = 4 * 4;
  // Calibrated on an H200, 2026-11-27: 986 and 246 stores a ns of 132 units, at the clock of which
  // its float32 rate is 128 multiply-adds a unit.
  constexpr double kStores = 4, kVectorStores = 1;
  const double units = std::max<double>(compute_units, 1);
  const double matrix_gflops = 2 * gpu.matrix_multiply_adds * units;
  const double dot_gflops = 8 * gpu.instructions * units;
  // Operations of 8-bit integers that are emulated are packed dot products.
  const double matrix_i8_gflops = std::max(2 * matrix_gflops, dot_gflops);
  return {.fma_gflops = 2 * gpu.multiply_adds * units,
          .dot_gflops = dot_gflops,
          .matrix_f16_gflops = matrix_gflops,
          .matrix_f16_f16_gflops = matrix_gflops,
          .matrix_bf16_gflops = matrix_gflops,
          .matrix_i8_gflops = matrix_i8_gflops,
          .matrix_u8_gflops = matrix_i8_gflops,
          .shared_gbps = kSharedBytes * units,
          .levels = {{.name = "memory", .gbps = kCacheBytes * units}},
          .buffer_stores_per_ns = kStores * units,
          .buffer_vector_stores_per_ns = kVectorStores * units,
          .broadcasts_per_ns = gpu.instructions * units / kBroadcastInstructions,
          .compute_units = units,
          .gpu = &gpu};
}

bool is_calibrated(const HostRates& rates) { return peak_gflops(rates) > 0; }

double memory_gbps(const DeviceRates& rates) {
  return rates.levels.empty() ? 0 : rates.levels.back().gbps;
}

double gbps_for_footprint(const DeviceRates& rates, double bytes) {
  for (const MemoryLevel& level : rates.levels)
    if (bytes <= level.footprint_bytes) return level.gbps;
  return memory_gbps(rates);
}

double cache_gbps(const DeviceRates& rates) {
  return rates.levels.empty() ? 0 : rates.levels.front().gbps;
}

double cache_bytes(const DeviceRates& rates) {
  return rates.levels.size() > 1 ? rates.levels.end()[-2].footprint_bytes : 0;
}

std::string level_name(std::size_t level, std::size_t levels) {
  if (level + 1 == levels) return "memory";
  return level == 0 ? "cache" : fmt::format("cache{}", level + 1);
}

std::string matrix_figure(DataType operand, DataType sum) {
  return fmt::format("device.matrix.{}.{}", name(operand), name(sum));
}

namespace {

double matrix_gflops(const DeviceRates& rates, const Types& types) {
  switch (types.a) {
    case DataType::kF16:
      return types.sums == Sums::kF16 ? rates.matrix_f16_f16_gflops : rates.matrix_f16_gflops;
    case DataType::kBf16:
    case DataType::kF32:
      return rates.matrix_bf16_gflops;
    case DataType::kI8:
      return rates.matrix_i8_gflops;
    case DataType::kU8:
      return rates.matrix_u8_gflops;
    default:
      return 0;
  }
}

}  // namespace

double math_gflops(const DeviceRates& rates, const Types& types, const Variant& v) {
  if (v.family == Family::kMatrix) return matrix_gflops(rates, types) / operations_of(v, types);
  if (v.dot > 1 || multiplies_int8(v, types)) return rates.dot_gflops;
  // Where it was not measured, as by version 0.1.0, the rate of most GPUs: data centres' have up to
  // that of float32, others 1/16 to 1/64 of it.
  constexpr double kShareOfFloat64 = 1.0 / 32;
  if (is_float64(types))
    return rates.fma_f64_gflops > 0 ? rates.fma_f64_gflops : kShareOfFloat64 * rates.fma_gflops;
  // Sums in f16 run at the faster of the two rates, because compilers may use either.
  return types.sums == Sums::kF16 ? std::max(rates.fma_gflops, rates.fma_f16_gflops)
                                  : rates.fma_gflops;
}

double peak_gflops(const DeviceRates& rates, const Types& types) {
  const bool multiplies_int8s = is_8_bit(types.a) || types.rounding == Rounding::kInt8;
  const double dot = multiplies_int8s ? rates.dot_gflops : 0,
               units = types.a == DataType::kF32 ? 0 : matrix_gflops(rates, types);
  return std::max({math_gflops(rates, types, Variant{}), dot, units});
}

double peak_gflops(const HostRates& rates) {
  double best = 0;
  for (const HostPoint& point : rates.gemm) best = std::max(best, point.gflops);
  return best;
}

CalibrationRatios calibration_ratios(const Calibration& c) {
  return {.compute = ratio(c.device.fma_gflops, peak_gflops(c.host)),
          .bandwidth = ratio(memory_gbps(c.device), c.host.gbps),
          .latency = ratio(c.host.call_ns, c.device.submit_ns)};
}

}  // namespace rooftile
