#include "report/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "core/count_text.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "core/text_table.h"
#include "report/json_values.h"

namespace rooftile {
namespace {

std::string label(const DeviceProfile& profile) {
  return fmt::format("{} ({})", profile.name, profile.driver_info);
}

/// The distance of two devices; a smaller value is nearer.
int distance(const DeviceProfile& x, const DeviceProfile& y) {
  if (x.device_uuid == y.device_uuid) return 0;
  if (x.vendor_id == y.vendor_id && x.device_id == y.device_id) return 1;
  return x.kind == y.kind ? 2 : 3;
}

const DeviceReport* partner(const DeviceReport& device, const Report& there, bool same_file) {
  const DeviceReport* best = nullptr;
  const auto rank = [&](const DeviceReport& other) {
    return std::tuple(other.problems.empty() && other.figures.empty(),
                      distance(device.profile, other.profile), -std::ssize(other.problems));
  };
  for (const DeviceReport& other : there.devices) {
    if (same_file && other.row == device.row) continue;
    if (best == nullptr || rank(other) < rank(*best)) best = &other;
  }
  return best;
}

/// A quotient of two figures may be too small or too large for a number.
void add_ratio(std::vector<double>& ratios, double ratio) {
  if (ratio > 0 && std::isfinite(ratio)) ratios.push_back(ratio);
}

/// Either file may be a stranger's.
void clean(Report& report) {
  for (DeviceReport& device : report.devices) {
    for (std::string* text : {&device.profile.name, &device.profile.device_uuid,
                              &device.profile.driver_name, &device.profile.driver_info})
      *text = cleaned_text(*text);
    for (FigureReport& report_of : device.figures)
      for (std::string* text : {&report_of.figure.name, &report_of.figure.unit})
        *text = cleaned_text(*text);
  }
}

void compare_figures(DeviceComparison& comparison, const DeviceReport& here,
                     const DeviceReport& there) {
  std::vector<double> host_ratios;
  const auto value_of = [](const DeviceReport& device, const std::string& name) {
    const auto found = std::ranges::find(
        device.figures, name, [](const FigureReport& report) { return report.figure.name; });
    return found == device.figures.end() ? std::optional<double>() : found->figure.value;
  };
  for (const FigureReport& report : here.figures) {
    const Figure& f = report.figure;
    const std::optional<double> other = value_of(there, f.name);
    if (!f.name.starts_with(kHostGridPrefix))
      comparison.figures.push_back({f.name, f.unit, f.value, other});
    else if (other && *other > 0 && f.value > 0)
      add_ratio(host_ratios, *other / f.value);
  }
  for (const FigureReport& report : there.figures) {
    const Figure& f = report.figure;
    if (!f.name.starts_with(kHostGridPrefix) && !value_of(here, f.name))
      comparison.figures.push_back({f.name, f.unit, std::nullopt, f.value});
  }
  comparison.host_points = host_ratios.size();
  if (!host_ratios.empty()) comparison.host_ratio = geometric_mean(host_ratios);
}

void compare_problems(DeviceComparison& comparison, const DeviceReport& here,
                      const DeviceReport& there) {
  const auto find = [](const DeviceReport& device, const Problem& p) {
    return std::ranges::find(device.problems, p, &ProblemReport::problem);
  };
  for (const ProblemReport& p : here.problems) {
    const auto other = find(there, p.problem);
    if (other == there.problems.end())
      comparison.only_here.push_back(to_string(p.problem));
    else
      comparison.problems.push_back({.problem = p.problem,
                                     .kernel_here = p.kernel,
                                     .kernel_there = other->kernel,
                                     .here_ns = p.total_ns(),
                                     .there_ns = other->total_ns()});
  }
  for (const ProblemReport& p : there.problems)
    if (find(here, p.problem) == here.problems.end())
      comparison.only_there.push_back(to_string(p.problem));
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

void write_device(fmt::memory_buffer& out, const DeviceComparison& device, std::size_t terminal) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\nhere:  {}\nthere: {}\n", label(device.here), label(device.there));
  TextTable problems(
      {{"problem", Align::kLeft}, {"here us"}, {"there us"}, {"ratio"}, {"kernels", Align::kLeft}});
  for (const ProblemComparison& p : device.problems)
    problems.add({to_string(p.problem), fmt::format("{:.1f}", p.here_ns * 1e-3),
                  fmt::format("{:.1f}", p.there_ns * 1e-3), fmt::format("{:.2f}x", p.ratio()),
                  p.kernel_here == p.kernel_there
                      ? p.kernel_here
                      : fmt::format("{} / {}", p.kernel_here, p.kernel_there)});
  if (problems.empty())
    fmt::format_to(to, "  no problem is tuned on both\n");
  else
    out.append(problems.text("  ", terminal));
  if (!device.only_here.empty())
    fmt::format_to(to, "  only here:  {}\n", fmt::join(device.only_here, ", "));
  if (!device.only_there.empty())
    fmt::format_to(to, "  only there: {}\n", fmt::join(device.only_there, ", "));
  if (device.figures.empty()) {
    fmt::format_to(to, "  neither is calibrated\n");
    return;
  }
  TextTable figures(
      {{"figure", Align::kLeft}, {"here"}, {"there"}, {"unit", Align::kLeft}, {"ratio"}});
  for (const FigureComparison& f : device.figures) {
    const bool both = f.here && f.there && *f.here != 0;
    figures.add({f.name, value_text(f.here), value_text(f.there), f.unit,
                 both ? fmt::format("{:.2f}x", *f.there / *f.here) : "-"});
  }
  if (device.host_points > 0)
    figures.add({"host.gemm.*", fmt::format("{} points", device.host_points), "", "",
                 fmt::format("{:.2f}x", device.host_ratio)});
  out.append(figures.text("  ", terminal));
}

Json json_of(const DeviceComparison& device) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json figures = Json::array(), problems = Json::array();
  for (const FigureComparison& f : device.figures)
    figures.push_back({{"name", f.name},
                       {"unit", f.unit},
                       {"here", optional(f.here)},
                       {"there", optional(f.there)},
                       {"ratio", f.here && f.there ? Json(*f.there / *f.here) : Json(nullptr)}});
  for (const ProblemComparison& p : device.problems) {
    Json problem = json_of(p.problem);
    problem.update({{"kernel_here", p.kernel_here},
                    {"kernel_there", p.kernel_there},
                    {"here_ns", p.here_ns},
                    {"there_ns", p.there_ns},
                    {"ratio", p.ratio()}});
    problems.push_back(std::move(problem));
  }
  return {{"here", json_identity(device.here)},
          {"there", json_identity(device.there)},
          {"figures", figures},
          {"host_points", device.host_points},
          {"host_ratio", json_known(device.host_ratio)},
          {"problems", problems},
          {"only_here", device.only_here},
          {"only_there", device.only_there}};
}

}  // namespace

Comparison compare(Report here, Report there) {
  clean(here);
  clean(there);
  Comparison comparison{.here = here.database, .there = there.database};
  const bool same_file = here.database == there.database;
  std::vector<const DeviceReport*> used;
  for (const DeviceReport& device : here.devices) {
    const DeviceReport* other = partner(device, there, same_file);
    if (other == nullptr) continue;
    used.push_back(other);
    DeviceComparison& pair = comparison.devices.emplace_back(
        DeviceComparison{.here = device.profile, .there = other->profile});
    compare_figures(pair, device, *other);
    compare_problems(pair, device, *other);
  }
  if (comparison.devices.empty())
    fail(ErrorCode::kUnsupported, "nothing to compare: {} has {} and {} has {}{}; {}",
         here.database, count_text(here.devices.size(), "device"), there.database,
         count_text(there.devices.size(), "device"), same_file ? ", which are the same" : "",
         here.devices.empty() ? "`rooftile tune` adds one to the former"
                              : "name a database of a similar device with --compare");
  for (const DeviceReport& device : there.devices)
    if (!same_file && std::ranges::find(used, &device) == used.end())
      comparison.without_partner.push_back(label(device.profile));
  return comparison;
}

std::string comparison_text(const Comparison& comparison, std::size_t terminal) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "here:  {}\nthere: {}\nratios: there over here; of problems their rates\n",
                 comparison.here, comparison.there);
  for (const DeviceComparison& device : comparison.devices) write_device(out, device, terminal);
  for (const std::string& device : comparison.without_partner)
    fmt::format_to(to, "\nnot compared: {} of {}\n", device, comparison.there);
  return fmt::to_string(out);
}

std::string comparison_json(const Comparison& comparison) {
  Json devices = Json::array();
  for (const DeviceComparison& device : comparison.devices) devices.push_back(json_of(device));
  return json_text({{"here", comparison.here},
                    {"there", comparison.there},
                    {"devices", devices},
                    {"without_partner", comparison.without_partner}},
                   2);
}

}  // namespace rooftile
