#include "cli/tune_text.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/terminal.h"
#include "core/count_text.h"
#include "core/text_table.h"
#include "core/time_text.h"

namespace rooftile {
namespace {

std::string ratio_text(double other_ns, double ns) {
  return other_ns > 0 && ns > 0 ? fmt::format("{:.2f}x", other_ns / ns) : "-";
}

/// contention_note() explains the mark.
std::string host_text(const HostComparison& host) {
  return host.ratio > 0 ? fmt::format("{:.2f}x{}", host.ratio, host.contended ? "*" : "") : "-";
}

/// Explains the mark of contended comparisons with the host; empty when there are none.
std::string contention_note(const std::vector<TuneResult>& results) {
  const auto contended =
      std::ranges::count_if(results, [](const TuneResult& r) { return r.host.contended; });
  if (contended == 0) return "";
  return fmt::format(
      "* other programs used the processors during {} of the comparisons with the host, so that "
      "the ratio is unreliable; `rooftile explain` and `rooftile report` predict it\n",
      contended);
}

/// Disturbances of the measurements; drift and temperature only where they matter.
std::string noise_text(const TuneReport& report) {
  std::string text = fmt::format("{} resampled, {} flagged noisy",
                                 count_text(report.noise.retaken, "sample"), report.noise.noisy);
  if (const auto slowdown = report.noise.slowdown)
    text += fmt::format("; the device {} by {:.0f} % over the run{}",
                        *slowdown > 1 ? "slowed" : "sped up", 100 * std::abs(*slowdown - 1),
                        *slowdown > 1 ? " (thermal?)" : "");
  if (report.conditions.highest_c)
    text += fmt::format("; {:.0f} C at most", *report.conditions.highest_c);
  if (report.conditions.throttle_events.value_or(0) > 0)
    text += "; throttled " + count_text(*report.conditions.throttle_events, "time");
  return text;
}

/// How far the run exceeded its budget; empty where it hardly did.
std::string overrun_text(double elapsed_s, double budget_s) {
  constexpr double kLeastToldS = 0.5;
  const double over_s = elapsed_s - budget_s;
  if (over_s < kLeastToldS) return "";
  return fmt::format(" ({:.0f} s of them after the budget, to finish what was running)", over_s);
}

/// Problems that got no time; empty where there are none.
std::string missing_text(const std::vector<TuneProblem>& wanted,
                         const std::vector<TuneResult>& results) {
  std::vector<std::string> missing;
  for (const TuneProblem& one : wanted)
    if (std::ranges::find(results, one.problem, &TuneResult::problem) == results.end())
      missing.push_back(to_string(one.problem));
  return missing.empty() ? "" : fmt::format("not begun: {}\n", fmt::join(missing, ", "));
}

/// Says which winners the run could not compare with their default; empty: it compared all.
std::string open_text(const std::vector<TuneResult>& results) {
  const auto open = std::ranges::count_if(results, [](const TuneResult& r) {
    return !r.winner.empty() && r.verdict == OutcomeVerdict::kOpen;
  });
  if (open == 0) return "";
  return fmt::format(
      "open: {} of the winners could not be compared with the default to the end; the next run "
      "begins with them\n",
      open);
}

/// Says what problems without a certified kernel get; empty where there are none.
std::string without_text(const TuneReport& report) {
  const auto without = std::ssize(report.results) - tuned_problems(report);
  if (without == 0) return "";
  return fmt::format(
      "no kernel: programs compute {} of the problems as before this run{}\n", without,
      report.interrupted || report.out_of_budget ? "; a longer --budget goes on with them" : "");
}

/// Says why kernels are faster than their bound; empty where none is much faster.
std::string roof_text(const std::vector<TuneResult>& results) {
  constexpr double kMuch = 1.2;
  if (std::ranges::none_of(results, [](const TuneResult& r) {
        return !r.winner.empty() && r.bound_ns > kMuch * r.kernel_ns;
      }))
    return "";
  return "above 100% roof: caches serve more than the memory whose rate was calibrated, or other "
         "programs slowed the calibration; `rooftile calibrate` measures it again\n";
}

/// Expected cost for problems that were not tuned.
std::string untuned_text(const TuneReport& report) {
  const Regret& regret = report.untuned;
  if (regret.problems == 0 && report.hardly_searched > 0)
    return fmt::format("not estimated: {} of {} problems have fewer than {} candidates",
                       report.hardly_searched, report.results.size(), kLeastForRegret);
  if (regret.problems == 0)
    return "fewer than two problems or two kernels were compared: no regret can be estimated";
  if (!regret.has_median())
    return fmt::format("{} compared; an estimate of the regret takes {}",
                       count_text(regret.problems, "problem"), kLeastForMedian);
  return fmt::format(
      "median regret {:.1f} % (95 % interval {:.1f} to {:.1f} %){}, over {} problems",
      100 * regret.median, 100 * regret.median_low, 100 * regret.median_high,
      regret.has_decile() ? fmt::format(", worst decile {:.0f} %", 100 * regret.worst_decile) : "",
      regret.problems);
}

}  // namespace

ResultTable::ResultTable(const std::vector<TuneProblem>& problems) {
  for (const TuneProblem& wanted : problems)
    problem_width_ = std::max(problem_width_, display_width(to_string(wanted.problem)));
  // Widths of what follows the problem: all figures, and the name of a usual winner.
  constexpr std::size_t kFigures = 76, kWinner = 60;
  const std::size_t terminal = terminal_columns(STDOUT_FILENO);
  folded_ = terminal > 0 && terminal < problem_width_ + kFigures + kWinner;
}

void ResultTable::print(const TuneResult& r) {
  if (!std::exchange(has_header_, true))
    row("problem",
        {"GFLOP/s", "% roof", "vs default", "certain", "tried", "vs naive", "vs host", "packing"},
        "winner");
  const double total_ns = r.kernel_ns + r.pack_ns;
  if (r.winner.empty()) {
    print_lines(fmt::format("{} no certified kernel yet ({} measured, {} rejected, {} spilled)\n",
                            padded(to_string(r.problem), problem_width_, Align::kLeft), r.measured,
                            r.rejected, r.spilled));
    return;
  }
  row(to_string(r.problem),
      {fmt::format("{:.1f}", flops(r.problem) / r.kernel_ns),
       fmt::format("{:.0f}%", 100 * r.bound_ns / r.kernel_ns), ratio_text(r.default_ns, total_ns),
       certainty_text(r.verdict, r.confidence), fmt::to_string(r.tried),
       ratio_text(r.naive_ns, total_ns), host_text(r.host),
       r.pack_ns > 0 ? time_text(r.pack_ns) : "-"},
      r.winner);
}

void ResultTable::row(std::string_view problem, const std::array<std::string, 8>& figures,
                      std::string_view winner) const {
  constexpr std::size_t kFirst = 5;  // figures of the first line
  std::string line = padded(problem, problem_width_, Align::kLeft);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (folded_ && i == kFirst) line += "\n  ";
    line += " " + padded(figures[i], kWidths[i], Align::kRight);
  }
  fmt::print("{}{}{}\n", line, folded_ ? "\n    " : "  ", winner);
}

std::ptrdiff_t tuned_problems(const TuneReport& report) {
  return std::ranges::count_if(report.results,
                               [](const TuneResult& result) { return !result.winner.empty(); });
}

void print_end(const TuneOptions& options, const TuneReport& report) {
  std::size_t spilled = 0;
  for (const TuneResult& result : report.results) spilled += result.spilled;
  print_lines(fmt::format(
      "{} of {} problems in {:.0f} s{}{}{}{}\n", tuned_problems(report), options.problems.size(),
      report.elapsed_s, overrun_text(report.elapsed_s, options.budget_s),
      spilled > 0 ? fmt::format(", {} spilled", spilled) : "",
      report.failed > 0
          ? fmt::format(", {} failed, {:.1f} s lost to {}", count_text(report.failed, "candidate"),
                        report.lost_s, report.failed == 1 ? "it" : "them")
          : "",
      report.interrupted     ? "; interrupted: the next run continues from here"
      : report.out_of_budget ? "; out of budget: the next run continues from here"
                             : ""));
  print_lines(fmt::format("{}{}{}{}{}noise: {}\n", missing_text(options.problems, report.results),
                          without_text(report), open_text(report.results),
                          roof_text(report.results), contention_note(report.results),
                          noise_text(report)));
  print_lines(fmt::format("seconds: {}\n", activities_text(report.seconds)));
  const bool any_single = std::ranges::any_of(
      report.results, [](const TuneResult& result) { return !is_grouped(result.problem); });
  if (!report.interrupted && any_single)
    print_lines(fmt::format("untuned problems: {}\n", untuned_text(report)));
}

}  // namespace rooftile
