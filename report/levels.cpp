#include "report/levels.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace rooftile {
namespace {

/// The plateaus that are caches, fastest first.
std::span<const MemoryLevel> caches(const DeviceRates& rates) {
  return std::span(rates.levels).first(rates.levels.empty() ? 0 : rates.levels.size() - 1);
}

/// The roofline's bound at a level; 0: it has none there.
double bound_of(const Roofline& roofline, const std::string& level) {
  const auto bound = std::ranges::find(roofline.bounds, "memory:" + level, &Bound::limiter);
  return bound == roofline.bounds.end() ? 0 : bound->ns;
}

LevelReport level(const ProblemReport& problem, std::string name, double modelled_bytes,
                  double gbps, const std::optional<double>& counted_bytes = {}) {
  const double bytes = counted_bytes.value_or(modelled_bytes);
  const double work = flops(problem.problem);
  LevelReport report{.level = std::move(name),
                     .bytes = bytes,
                     .intensity = bytes > 0 ? work / bytes : 0,
                     .gbps = gbps,
                     .gflops = problem.kernel_ns > 0 ? work / problem.kernel_ns : 0};
  report.bound_ns = gbps > 0 ? bound_of(problem.roofline, report.level) : 0;
  if (counted_bytes) report.modelled_bytes = modelled_bytes;
  return report;
}

}  // namespace

std::vector<LevelReport> levels(const ProblemReport& problem, const DeviceRates& rates,
                                const Decision& call, const CountedBytes& counted) {
  const Traffic& traffic = problem.roofline.traffic;
  std::vector<LevelReport> list = {
      level(problem, "memory", traffic.memory_bytes, memory_gbps(rates), counted.memory)};
  // Blocks are read from the nearest cache; only bytes that no cache holds are read from the levels
  // behind it.
  const std::span<const MemoryLevel> found = caches(rates);
  for (std::size_t i = found.size(); i > 1; --i)
    list.push_back(level(problem, found[i - 1].name, traffic.memory_bytes, found[i - 1].gbps));
  list.push_back(level(problem, "cache", traffic.cache_bytes, found.empty() ? 0 : found[0].gbps));
  // Other kernels read their operands straight from a cache.
  if (problem.variant.family == Family::kTiled)
    list.push_back(
        level(problem, "shared", traffic.register_bytes, rates.shared_gbps, counted.shared));
  const double link_ns = call.upload_ns + call.download_ns;
  // Operands that kernels read and write in the host's memory cross no link of their own.
  if (std::isfinite(call.device_ns) && link_ns > 0 && call.link_bytes > 0) {
    LevelReport link = level(problem, "link", call.link_bytes, 0);
    link.gbps = link.bytes / link_ns;
    link.bound_ns = link_ns;
    link.gflops = flops(problem.problem) / call.device_ns;
    list.push_back(link);
  }
  return list;
}

std::vector<LevelReport> level_roofs(const DeviceRates& rates) {
  std::vector<LevelReport> roofs;
  const auto add = [&](const std::string& level, double gbps) {
    if (gbps > 0) roofs.push_back({.level = level, .gbps = gbps});
  };
  add("memory", memory_gbps(rates));
  const std::span<const MemoryLevel> found = caches(rates);
  for (std::size_t i = found.size(); i > 0; --i) add(found[i - 1].name, found[i - 1].gbps);
  add("shared", rates.shared_gbps);
  // The rate of the faster direction, which no mixture of both exceeds.
  add("link", std::max(rates.upload_gbps, rates.download_gbps));
  return roofs;
}

}  // namespace rooftile
