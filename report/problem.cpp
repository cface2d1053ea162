#include "report/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "core/count_text.h"
#include "core/error.h"
#include "core/text_table.h"
#include "report/json_values.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostNamed = 8;  // problems in a message

/// Names the tuned problems of the same sizes, or else some of any sizes.
std::string tuned_instead(const Report& report, const Problem& wanted) {
  std::vector<std::string> same_sizes, all;
  bool more = false;
  for (const DeviceReport& device : report.devices)
    for (const ProblemReport& p : device.problems) {
      const std::string text = to_string(p.problem);
      const auto add = [&](std::vector<std::string>& list) {
        if (std::ranges::find(list, text) != list.end()) return;
        if (list.size() < kMostNamed)
          list.push_back(text);
        else
          more = true;
      };
      add(all);
      if (p.problem.m == wanted.m && p.problem.n == wanted.n && p.problem.k == wanted.k)
        add(same_sizes);
    }
  if (!same_sizes.empty())
    return fmt::format("these sizes are tuned as {}", fmt::join(same_sizes, ", "));
  if (!all.empty())
    return fmt::format("tuned problems: {}{}", fmt::join(all, ", "), more ? " and others" : "");
  return "nothing is tuned";
}

double microseconds(double ns) { return ns * 1e-3; }

std::string bytes_are(const LevelReport& level) {
  if (!level.modelled_bytes) return "modelled";
  return fmt::format("counted; the model says {:.0f}", *level.modelled_bytes);
}

void write_levels(fmt::memory_buffer& out, const ProblemReport& p, std::size_t terminal) {
  std::vector<TextTable::Column> columns = {{"level", Align::kLeft}, {"bytes"},    {"flop/byte"},
                                            {"GB/s roof"},           {"bound us"}, {"of it"}};
  if (p.counted()) columns.push_back({"bytes are", Align::kLeft});
  TextTable table(std::move(columns));
  for (const LevelReport& level : p.levels) {
    const auto known = [](double x, double scale, int digits) {
      return x > 0 ? fmt::format("{:.{}f}", x * scale, digits) : std::string("-");
    };
    const double passed_ns = level.gflops > 0 ? flops(p.problem) / level.gflops : 0;
    table.add({level.level, fmt::format("{:.0f}", level.bytes), known(level.intensity, 1, 2),
               known(level.gbps, 1, 1), known(level.bound_ns, 1e-3, 1),
               level.bound_ns > 0 ? fmt::format("{:.0f} %", 100 * level.bound_ns / passed_ns) : "-",
               p.counted() ? bytes_are(level) : ""});
  }
  out.append("\n" + table.text("  ", terminal));
}

void write_counters(fmt::memory_buffer& out, const ProblemReport& p, std::size_t terminal) {
  if (!p.counters) return;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n  counted by the driver in {}, {}:\n",
                 count_text(p.counters->passes, "pass"), p.counters->at);
  TextTable table(
      {{"counter", Align::kLeft}, {"value"}, {"unit", Align::kLeft}, {"category", Align::kLeft}});
  for (const PerformanceCounter& counter : p.counters->counters)
    table.add({counter.name, counter_value(counter), counter.unit == "generic" ? "" : counter.unit,
               counter.category});
  out.append(table.text("  ", terminal));
}

void write_limits(fmt::memory_buffer& out, const ProblemReport& p) {
  const auto to = std::back_inserter(out);
  const Limiter& limiter = p.limiter;
  if (limiter.name.empty()) {
    fmt::format_to(to, "\n  no limiter is known: the device is not calibrated\n");
    return;
  }
  const auto list = [&](std::string_view heading, const std::vector<Bound>& bounds) {
    fmt::format_to(to, "\n  {:<16} {:>12}\n", "limit", heading);
    for (const Bound& bound : bounds)
      if (bound.ns > 0)
        fmt::format_to(to, "  {:<16} {:>12.1f}\n", bound.limiter, microseconds(bound.ns));
  };
  list("about us", p.roofline.costs);
  list("at least us", p.roofline.bounds);
  fmt::format_to(to, "  {:<16} {:>12.1f}\n", "measured", microseconds(p.kernel_ns));
  const std::string other = limiter.other.empty() ? ""
                                                  : fmt::format(", or {}, {}", limiter.other,
                                                                limiter_text(limiter.other));
  fmt::format_to(to, "\n  limiter: {}, {}{}; the first is {:.0f} % of the predicted time\n",
                 limiter.name, limiter_text(limiter.name), other, 100 * limiter.share);
  const std::string bound = p.largest_bound();
  fmt::format_to(to, "  bound:   {}, {}; the kernel takes {:.2f} x as long as that alone would\n",
                 bound, limiter_text(bound), p.headroom.over_bound);
  if (const std::string next = p.next_limiter(); !next.empty())
    fmt::format_to(to, "  next:    {}, {}; it holds once the bound is lifted, {:.2f} x lower\n",
                   next, limiter_text(next), p.headroom.if_lifted);
}

void write_alternatives(fmt::memory_buffer& out, const ProblemReport& p, std::size_t terminal) {
  TextTable table({{"rank", Align::kLeft},
                   {"kernel", Align::kLeft},
                   {"kernel us"},
                   {"pack us"},
                   {"x best"},
                   {"limiter", Align::kLeft}});
  int rank = 0;
  const auto add = [&](const std::string& kernel, double kernel_ns, double pack_ns,
                       const std::string& limiter) {
    table.add({fmt::to_string(rank++), kernel, fmt::format("{:.1f}", microseconds(kernel_ns)),
               fmt::format("{:.1f}", microseconds(pack_ns)),
               fmt::format("{:.2f}", (kernel_ns + pack_ns) / p.total_ns()), limiter});
  };
  add(p.kernel, p.kernel_ns, p.pack_ns, p.limiter.name);
  for (const RankedReport& other : p.alternatives)
    add(other.kernel, other.kernel_ns, other.pack_ns, other.limiter);
  out.append("\n" + table.text("  ", terminal));
}

void write_gains(fmt::memory_buffer& out, const ProblemReport& p) {
  const auto to = std::back_inserter(out);
  const auto gain = [&](const char* over, double ns) {
    if (std::isfinite(ns) && ns > 0)
      fmt::format_to(to, "  {:<18} {:>12.1f} us  {:>8.2f} x as long\n", over, microseconds(ns),
                     ns / p.total_ns());
  };
  fmt::format_to(to, "\n  against {:.1f} us, packing included:\n", microseconds(p.total_ns()));
  gain("default", p.default_ns());
  if (p.outcome && p.outcome->verdict == OutcomeVerdict::kDefault)
    fmt::format_to(to, "  it is the default: none of {} candidates is faster\n", p.outcome->tried);
  else if (p.outcome)
    fmt::format_to(to, "  certain that it is faster than the default: {}; {} candidates tried\n",
                   certainty_text(p.outcome->verdict, p.outcome->confidence), p.outcome->tried);
  gain("naive", p.naive_ns);
  gain("host (predicted)", p.host_ns);
  if (p.call_ns > 0)
    fmt::format_to(to,
                   "  a call with operands in host memory is predicted to take {:.1f} us on the "
                   "device\n",
                   microseconds(p.call_ns));
}

}  // namespace

std::string options_of(const Problem& p) {
  std::string text = fmt::format("--m {} --n {} --k {}", p.m, p.n, p.k);
  if (p.trans_a == Transpose::kYes) text += " --trans-a";
  if (p.trans_b == Transpose::kYes) text += " --trans-b";
  if (p.types != Types()) text += " --type " + to_string(p.types);
  if (p.epilogue != Epilogue()) text += " --epilogue " + to_string(p.epilogue);
  if (is_grouped(p)) {
    text += fmt::format(" --groups {}", p.grouping.groups);
    if (p.grouping.experts != p.grouping.groups)
      text += fmt::format(" --experts {}", p.grouping.experts);
  } else if (p.batch > 1) {
    text += fmt::format(" --batch {}", p.batch);
  }
  return text;
}

std::vector<ProblemOnDevice> find_problem(const Report& report, const Problem& wanted) {
  const std::string text = to_string(wanted);
  std::vector<ProblemOnDevice> found;
  for (const DeviceReport& device : report.devices)
    for (const ProblemReport& p : device.problems)
      if (to_string(p.problem) == text) found.push_back({&device, &p});
  if (found.empty())
    fail(ErrorCode::kUnsupported, "{} is not tuned in {}; {}; `rooftile tune {}` tunes it", text,
         report.database, tuned_instead(report, wanted), options_of(wanted));
  return found;
}

std::string problem_text(const std::vector<ProblemOnDevice>& found, std::size_t terminal) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  for (const auto& [device, problem] : found) {
    const ProblemReport& p = *problem;
    const Waves& waves = p.roofline.waves;
    fmt::format_to(to, "{}{} on {} ({})\n\n", &found.front().problem == &problem ? "" : "\n",
                   to_string(p.problem), device->profile.name, device->profile.driver_info);
    fmt::format_to(to, "  {}\n", p.kernel);
    fmt::format_to(to, "  {:.1f} us, {:.1f} GFLOP/s", microseconds(p.kernel_ns),
                   flops(p.problem) / p.kernel_ns);
    if (p.bound_ns > 0)
      fmt::format_to(to, ", {:.0f} % of the problem's roofline", 100 * p.bound_ns / p.kernel_ns);
    if (p.pack_ns > 0) fmt::format_to(to, "; packing {:.1f} us", microseconds(p.pack_ns));
    fmt::format_to(to, "\n");
    write_levels(out, p, terminal);
    write_limits(out, p);
    fmt::format_to(to,
                   "\n  {:.0f} workgroups in {:.0f} waves; wave efficiency {:.0f} %, tile "
                   "efficiency {:.0f} %\n",
                   waves.workgroups, waves.waves, 100 * waves.wave_efficiency,
                   100 * waves.tile_efficiency);
    write_counters(out, p, terminal);
    write_gains(out, p);
    write_alternatives(out, p, terminal);
  }
  return fmt::to_string(out);
}

std::string problem_json(const Report& report, const std::vector<ProblemOnDevice>& found) {
  Json devices = Json::array();
  for (const auto& [device, problem] : found) {
    Json entry = json_identity(device->profile);
    entry["problem"] = json_of(*problem, JsonDetail::kFull);
    devices.push_back(std::move(entry));
  }
  return json_text({{"database", report.database}, {"devices", devices}}, 2);
}

}  // namespace rooftile
