#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/terminal.h"

namespace rooftile {
namespace {

constexpr std::size_t kBarColumns = 10;  // The rest of 80 columns is for the text.

const char* phase_text(TunePhase phase) {
  switch (phase) {
    case TunePhase::kCalibrating:
      return "calibrating";
    case TunePhase::kRefreshing:
      return "refreshing";
    case TunePhase::kImporting:
      return "certifying imported data:";
    case TunePhase::kSearching:
      return "searching";
    case TunePhase::kCertifying:
      return "certifying";
    case TunePhase::kComparing:
      return "comparing";
    case TunePhase::kFinished:
      return "finished";
  }
  return "";
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(can_redraw(STDERR_FILENO)) {}

void ProgressBar::show(const TuneProgress& p) {
  if (!terminal_) return;
  if (p.phase == TunePhase::kCalibrating) {
    draw(fmt::format("calibrating; after it the budget of {:.0f} s begins", p.budget_s));
    return;
  }
  const double share = std::clamp(p.elapsed_s / std::max(p.budget_s, 1e-9), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kBarColumns);
  std::string line = fmt::format(
      "[{:#<{}}{:.<{}}] {:.0f} s left, {} {}/{} {}", "", filled, "", kBarColumns - filled,
      std::max(0.0, p.budget_s - p.elapsed_s), phase_text(p.phase),
      std::min(p.problems_done + 1, p.problems_total), p.problems_total, p.problem);
  if (p.best_gflops > 0)
    line += fmt::format(": {:.1f} GFLOP/s, {:.0f} % of roof{}", p.best_gflops,
                        100 * p.roofline_share, p.limiter.empty() ? "" : ", " + p.limiter);
  draw(std::move(line));
}

void ProgressBar::draw(std::string line) {
  line.resize(std::min(line.size(), terminal_columns(STDERR_FILENO) - 1));
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace rooftile
