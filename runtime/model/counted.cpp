#include "runtime/model/counted.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

namespace rooftile {
namespace {

/// Counters whose sum is a level's bytes; all of them must be present.
struct Known {
  std::optional<double> CountedBytes::*level;
  std::array<std::string_view, 2> names;  // "": no second counter.
};

// The names are checked together with their meaning in the driver's source, because names alone
// mislead: Mesa calls a number of messages "SLM Bytes Read" on Xe-HPG (unit generic), and reports
// its hit ratios of AMD's caches in bytes. Turnip's and V3DV's counters are generic ones of
// requests and beats of undocumented size.
constexpr Known kKnown[] = {
    // RADV: Mesa, src/amd/vulkan/radv_perfcounter.c. Bytes that the L2 cache reads from and writes
    // to VRAM.
    {&CountedBytes::memory, {"VRAM read size", "VRAM write size"}},
    // ANV on Xe2 and later: Mesa, src/intel/perf/oa-ptl.xml: "device local memory (HBM, GDDR,
    // LPDDR, etc.)".
    {&CountedBytes::memory, {"GPU Memory Byte Read", "GPU Memory Byte Write"}},
    // ANV before Xe2: Mesa, src/intel/perf/oa-acmgt3.xml: "The total number of GPU memory bytes
    // read from GTI". These bytes leave the GPU; on integrated GPUs a cache of the processor
    // follows.
    {&CountedBytes::memory, {"GTI Read Throughput", "GTI Write Throughput"}},
    // ANV before Xe-HPG: Intel's metrics discovery, symbol SlmBytesRead: "bytes read from shared
    // local memory".
    {&CountedBytes::shared, {"SLM Bytes Read", ""}},
};

bool is_named(const PerformanceCounter& counter, std::string_view name) {
  return counter.unit == "bytes" && counter.name == name;
}

std::optional<double> sum_of(const Known& known, std::span<const PerformanceCounter> counters) {
  double bytes = 0;
  for (const std::string_view name : known.names) {
    if (name.empty()) continue;
    const auto counter = std::ranges::find_if(
        counters, [&](const PerformanceCounter& c) { return is_named(c, name); });
    if (counter == counters.end()) return std::nullopt;
    bytes += counter->value;
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

void set_bound(std::vector<Bound>& bounds, const char* limiter, double ns) {
  const auto same = std::ranges::find(bounds, limiter, &Bound::limiter);
  if (same == bounds.end())
    bounds.push_back({limiter, ns});
  else
    same->ns = ns;
}

}  // namespace

bool is_known(const PerformanceCounter& counter) {
  return std::ranges::any_of(kKnown, [&](const Known& known) {
    return std::ranges::any_of(known.names, [&](std::string_view name) {
      return !name.empty() && is_named(counter, name);
    });
  });
}

CountedBytes counted_bytes(std::span<const PerformanceCounter> counters) {
  CountedBytes counted;
  for (const Known& known : kKnown)
    if (std::optional<double>& level = counted.*known.level; !level)
      level = sum_of(known, counters);
  return counted;
}

Roofline with_counted(Roofline modelled, const CountedBytes& counted, const DeviceRates& rates) {
  std::vector<Bound>& bounds = modelled.bounds;
  const auto count = [&](const char* limiter, double ns) {
    set_bound(bounds, limiter, ns);
    set_bound(modelled.costs, limiter, ns);
  };
  if (counted.memory && memory_gbps(rates) > 0)
    count("memory:memory", *counted.memory / memory_gbps(rates));
  const bool staged = std::ranges::find(bounds, "memory:shared", &Bound::limiter) != bounds.end();
  if (counted.shared && staged && rates.shared_gbps > 0)
    count("memory:shared", *counted.shared / rates.shared_gbps);
  std::ranges::stable_sort(bounds, std::greater{}, &Bound::ns);
  std::ranges::stable_sort(modelled.costs, std::greater{}, &Bound::ns);
  return modelled;
}

}  // namespace rooftile
