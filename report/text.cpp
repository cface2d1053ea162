#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/report.h"

namespace rooftile {
namespace {

constexpr std::string_view kHostGrid = "host.gemm.";  // hundreds of figures: counted, not listed

void write_calibration(fmt::memory_buffer& out, const DeviceReport& device) {
  const auto to = std::back_inserter(out);
  if (device.figures.empty()) {
    fmt::format_to(to, "  not calibrated: run `rooftile tune`\n");
    return;
  }
  fmt::format_to(to, "  calibrated {}\n", device.calibrated_at);
  std::size_t grid = 0;
  for (const Figure& f : device.figures) {
    if (f.name.starts_with(kHostGrid)) {
      ++grid;
      continue;
    }
    fmt::format_to(to, "    {:<34} {:>14.6g} {:<9} +- {:<10.3g} n={}\n", f.name, f.value, f.unit,
                   f.mad, f.count);
  }
  fmt::format_to(to, "    {:<34} {:>14} points\n", "host.gemm.*", grid);
  fmt::format_to(
      to,
      "  calibration ratios, device : host   compute {:.3f}, bandwidth {:.3f}, latency {:.4f}\n",
      device.ratios.compute, device.ratios.bandwidth, device.ratios.latency);
}

std::string count_text(const std::optional<std::int64_t>& count) {
  return count ? fmt::to_string(*count) : "-";
}

/// Registers, what of them spilled, and subgroups in flight.
std::string facts_text(const std::optional<CompilerFacts>& known) {
  const CompilerFacts facts = known.value_or(CompilerFacts());
  const auto& spills = facts.spilled_registers ? facts.spilled_registers : facts.spill_stores;
  return fmt::format(" {:>9} {:>7} {:>9}", count_text(facts.registers), count_text(spills),
                     count_text(facts.subgroups_per_unit));
}

void write_problems(fmt::memory_buffer& out, const DeviceReport& device) {
  const auto to = std::back_inserter(out);
  if (device.problems.empty()) {
    fmt::format_to(to, "  no certified kernel yet: run `rooftile tune`\n");
    return;
  }
  const bool facts = std::ranges::any_of(
      device.problems, [](const ProblemReport& p) { return p.facts.has_value(); });
  fmt::format_to(
      to, "  {:<20} {:<44} {:>9} {:>9} {:>7} {:>9} {:<16}{}\n", "problem", "best kernel", "us",
      "GFLOP/s", "% roof", "pack us", "limiter (model)",
      facts ? fmt::format(" {:>9} {:>7} {:>9}", "registers", "spilled", "subgroups") : "");
  for (const ProblemReport& p : device.problems)
    fmt::format_to(to, "  {:<20} {:<44} {:>9.1f} {:>9.1f} {:>6.0f}% {:>9.1f} {:<16}{}\n",
                   to_string(p.problem), p.kernel, p.kernel_ns * 1e-3,
                   flops(p.problem) / p.kernel_ns, 100 * p.bound_ns / p.kernel_ns, p.pack_ns * 1e-3,
                   p.limiter, facts ? facts_text(p.facts) : "");
}

}  // namespace

std::string report_text(const Report& report) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{}\n", report.database);
  if (report.devices.empty()) fmt::format_to(to, "no device in it yet: run `rooftile tune`\n");
  for (const DeviceReport& device : report.devices) {
    fmt::format_to(to, "\n{} ({}, {})\n", device.profile.name, name(device.profile.kind),
                   device.profile.driver_info);
    write_calibration(out, device);
    write_problems(out, device);
    for (const RejectedReport& r : device.rejected)
      fmt::format_to(to, "  black-listed: {}: {}\n", r.kernel, r.reason);
  }
  return fmt::to_string(out);
}

}  // namespace rooftile
