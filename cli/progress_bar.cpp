#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/terminal.h"

namespace rooftile {
namespace {

constexpr std::chrono::milliseconds kLeastPause(100);  // between two lines

std::string step_text(const TuneProgress& p) {
  switch (p.phase) {
    case TunePhase::kCalibrating:
      return "calibrate";
    case TunePhase::kRefreshing:
      return "refresh";
    case TunePhase::kImporting:
      return "import";
    case TunePhase::kSearching:
    case TunePhase::kCertifying:
      return fmt::format("tune {}/{}", p.problems_done, p.problems_total);
    case TunePhase::kComparing:
    case TunePhase::kFinished:
      return "finish";
  }
  return "";
}

const char* activity_text(TunePhase phase) {
  return phase == TunePhase::kSearching    ? "searching "
         : phase == TunePhase::kComparing  ? "comparing "
         : phase == TunePhase::kRefreshing ? ""
                                           : "certifying ";
}

/// "48 s", "3 min"; at least "1 s", because the step goes on.
std::string left_text(double seconds) {
  constexpr double kMinutesFrom = 99.5;
  return seconds < kMinutesFrom ? fmt::format("{:.0f} s", std::max(seconds, 1.0))
                                : fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(can_redraw(STDERR_FILENO)) {}

void ProgressBar::show(const TuneProgress& p) {
  if (!terminal_ || p.phase == TunePhase::kFinished) return;
  if (p.phase == TunePhase::kCalibrating) {
    draw(fmt::format("{}, about 15 s left; then tune for {:.0f} s", step_text(p), p.budget_s));
    return;
  }
  const double share = std::clamp(p.elapsed_s / std::max(p.budget_s, 1e-9), 0.0, 1.0);
  std::string line =
      fmt::format("{}, {:.0f} %, about {} left, {}{}", step_text(p), 100 * share,
                  left_text(p.budget_s - p.elapsed_s), activity_text(p.phase), p.problem);
  if (p.best_gflops > 0)
    line += fmt::format(": {:.1f} GFLOP/s, {:.0f} % of roof{}", p.best_gflops,
                        100 * p.roofline_share, p.limiter.empty() ? "" : ", " + p.limiter);
  draw(std::move(line));
}

void ProgressBar::draw(std::string line) {
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - drawn_ < kLeastPause) return;
  drawn_ = now;
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
