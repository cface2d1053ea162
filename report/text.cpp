#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "core/count_text.h"
#include "core/text_table.h"
#include "report/report.h"

namespace rooftile {
namespace {

/// When the device was calibrated, and how many figures have moved since the time before.
void write_calibrated(fmt::memory_buffer& out, const DeviceReport& device) {
  const auto to = std::back_inserter(out);
  if (device.figures.empty()) {
    fmt::format_to(to, "  not calibrated: run `rooftile tune`\n");
    return;
  }
  fmt::format_to(to, "  calibrated {}", device.calibrated_at);
  if (!device.calibrated_before.empty())
    fmt::format_to(to, "; {} of {} measurements drifted since {}",
                   std::ranges::count_if(device.figures, &FigureReport::drifted),
                   device.figures.size(), device.calibrated_before);
  fmt::format_to(to, "; `rooftile report --calibration` lists the measurements\n");
}

/// What the last run spent its time on.
void write_seconds(fmt::memory_buffer& out, const DeviceReport& device) {
  if (device.tuned_at.empty()) return;
  fmt::format_to(std::back_inserter(out), "  tuned {}, seconds: {}\n", device.tuned_at,
                 activities_text(device.seconds));
}

void write_calibration(fmt::memory_buffer& out, const DeviceReport& device, std::size_t terminal) {
  const auto to = std::back_inserter(out);
  if (device.figures.empty()) {
    fmt::format_to(to, "  not calibrated: run `rooftile tune`\n");
    return;
  }
  fmt::format_to(to, "  calibrated {}\n", device.calibrated_at);
  if (!device.calibrated_before.empty())
    fmt::format_to(to, "  drift since {}; * is more than the spreads explain\n",
                   device.calibrated_before);
  TextTable table({{"figure", Align::kLeft},
                   {"median"},
                   {"unit", Align::kLeft},
                   {"+-"},
                   {"samples"},
                   {"drift"},
                   {"", Align::kLeft}});
  std::size_t grid = 0;
  for (const FigureReport& report : device.figures) {
    const Figure& f = report.figure;
    if (f.name.starts_with(kHostGridPrefix)) {
      ++grid;
      continue;
    }
    const std::optional<double> drift = report.drift();
    table.add({f.name, fmt::format("{:.6g}", f.value), f.unit, fmt::format("{:.3g}", f.mad),
               fmt::to_string(f.count), drift ? fmt::format("{:+.1f} %", 100 * *drift) : "",
               report.drifted() ? "*" : ""});
  }
  table.add({"host.gemm.*", fmt::to_string(grid), "points"});
  out.append(table.text("    ", terminal));
  fmt::format_to(
      to,
      "  calibration ratios, device : host   compute {:.3f}, bandwidth {:.3f}, latency {:.4f}\n",
      device.ratios.compute, device.ratios.bandwidth, device.ratios.latency);
}

std::string count_text(const std::optional<std::int64_t>& count) {
  return count ? fmt::to_string(*count) : "-";
}

/// Registers, what of them spilled, and subgroups in flight.
std::array<std::string, 3> facts_cells(const std::optional<CompilerFacts>& known) {
  const CompilerFacts facts = known.value_or(CompilerFacts());
  const auto& spills = facts.spilled_registers ? facts.spilled_registers : facts.spill_stores;
  return {count_text(facts.registers), count_text(spills), count_text(facts.subgroups_per_unit)};
}

std::string ratio_text(double other_ns, double ns) {
  return other_ns > 0 && std::isfinite(other_ns) ? fmt::format("{:.2f}x", other_ns / ns) : "-";
}

std::string certain_text(const ProblemReport& p) {
  return p.outcome ? certainty_text(p.outcome->verdict, p.outcome->confidence) : "-";
}

void write_problems(fmt::memory_buffer& out, const DeviceReport& device, std::size_t terminal) {
  const auto to = std::back_inserter(out);
  if (device.problems.empty()) {
    fmt::format_to(to, "  no certified kernel yet: {}\n", device.advice);
    return;
  }
  const bool facts = std::ranges::any_of(
      device.problems, [](const ProblemReport& p) { return p.facts.has_value(); });
  const bool counted = std::ranges::any_of(device.problems, &ProblemReport::counted);
  std::vector<TextTable::Column> columns = {{"problem", Align::kLeft},
                                            {"best kernel", Align::kLeft},
                                            {"us"},
                                            {"GFLOP/s"},
                                            {"% roof"},
                                            {"pack us"},
                                            {"vs default"},
                                            {"certain"},
                                            {"tried"},
                                            {"vs naive"},
                                            {"vs host"},
                                            {"limiter (model)", Align::kLeft}};
  if (facts) columns.insert(columns.end(), {{"registers"}, {"spilled"}, {"subgroups"}});
  TextTable table(std::move(columns));
  for (const ProblemReport& p : device.problems) {
    std::vector<std::string> cells = {
        to_string(p.problem),
        p.kernel,
        fmt::format("{:.1f}", p.kernel_ns * 1e-3),
        fmt::format("{:.1f}", flops(p.problem) / p.kernel_ns),
        fmt::format("{:.0f}%", 100 * p.bound_ns / p.kernel_ns),
        fmt::format("{:.1f}", p.pack_ns * 1e-3),
        ratio_text(p.default_ns(), p.total_ns()),
        certain_text(p),
        p.outcome ? fmt::to_string(p.outcome->tried) : "-",
        ratio_text(p.naive_ns, p.total_ns()),
        ratio_text(p.host_ns, p.total_ns()),
        p.limiter_name() + (p.counted() && !p.limiter.name.empty() ? " *" : "")};
    if (facts) std::ranges::copy(facts_cells(p.facts), std::back_inserter(cells));
    table.add(std::move(cells));
  }
  out.append(table.text("  ", terminal));
  fmt::format_to(to,
                 "  vs default, certain: the kernel that programs take where nothing is tuned, and "
                 "the confidence that the best kernel is faster; open: not compared to the end\n");
  fmt::format_to(to, "  vs host: its BLAS on all threads, as predicted from its calibration\n");
  if (counted)
    fmt::format_to(to,
                   "  *: with bytes that the driver counted; `rooftile report --problem MxNxK`\n");
}

void write_elsewhere(fmt::memory_buffer& out, const DeviceReport& device, std::size_t terminal) {
  if (device.elsewhere.empty()) return;
  TextTable table({{"problem", Align::kLeft},
                   {"fastest kernel elsewhere", Align::kLeft},
                   {"us"},
                   {"GFLOP/s"},
                   {"pack us"},
                   {"tried"}});
  for (const ElsewhereReport& e : device.elsewhere)
    table.add({to_string(e.problem), e.kernel, fmt::format("{:.1f}", e.kernel_ns * 1e-3),
               fmt::format("{:.1f}", flops(e.problem) / e.kernel_ns),
               fmt::format("{:.1f}", e.pack_ns * 1e-3), fmt::to_string(e.tried)});
  out.append(table.text("  ", terminal));
  fmt::format_to(std::back_inserter(out),
                 "  elsewhere: imported measurements; programs run no kernel for them before it is "
                 "certified here\n");
}

}  // namespace

std::string counter_value(const PerformanceCounter& counter) {
  const double x = counter.value;
  constexpr double kExact = 9e15;  // of integers in a double
  return x == std::floor(x) && std::abs(x) < kExact ? fmt::format("{:.0f}", x)
                                                    : fmt::format("{:.6g}", x);
}

std::string_view limiter_text(std::string_view limiter) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"math", "arithmetic"},
      {"stores", "stores of C"},
      {"sums", "adding the partial sums of split-K"},
      {"broadcasts", "broadcasts of A to a subgroup"},
      {"barriers", "barriers"},
      {"tail", "units that idle while the last workgroups run"},
      {"memory:memory", "the bandwidth of device memory"},
      {"memory:cache", "loads from the cache"},
      {"memory:cache2", "the bandwidth of the second cache"},
      {"memory:cache3", "the bandwidth of the third cache"},
      {"memory:shared", "reads of shared memory"},
      {"latency", "the launch of dispatch and workgroups"}};
  const auto known =
      std::ranges::find(kTexts, limiter, [](const auto& text) { return text.first; });
  return known == std::end(kTexts) ? limiter : known->second;
}

std::string report_text(const Report& report, CalibrationDetail detail, std::size_t terminal) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{}\n", report.database);
  if (report.devices.empty()) fmt::format_to(to, "no device yet: run `rooftile tune`\n");
  // Devices of other machines come last.
  std::vector<const DeviceReport*> devices;
  for (const DeviceReport& device : report.devices) devices.push_back(&device);
  std::ranges::stable_sort(devices, {},
                           [](const auto* device) { return device->problems.empty(); });
  for (const DeviceReport* one : devices) {
    const DeviceReport& device = *one;
    fmt::format_to(to, "\n{} ({}, {})\n", device.profile.name, name(device.profile.kind),
                   device.profile.driver_info);
    if (device.serves_here) {
      fmt::format_to(to,
                     "  {} measured on another machine: `rooftile tune` certifies its kernels for "
                     "the device here\n",
                     count_text(device.elsewhere.size(), "problem"));
      continue;
    }
    write_problems(out, device, terminal);
    write_elsewhere(out, device, terminal);
    for (const StaleReport& s : device.stale)
      fmt::format_to(to, "  not used: {} for {}: {}\n", s.kernel, s.problem, s.reason);
    if (!device.stale.empty())
      fmt::format_to(to, "  `rooftile tune --refresh` certifies and times them again\n");
    for (const RejectedReport& r : device.rejected)
      fmt::format_to(to, "  black-listed: {}: {}\n", r.kernel, r.reason);
    detail == CalibrationDetail::kFigures ? write_calibration(out, device, terminal)
                                          : write_calibrated(out, device);
    write_seconds(out, device);
  }
  return fmt::to_string(out);
}

}  // namespace rooftile
