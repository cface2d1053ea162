#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

#include "cli/terminal.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

constexpr std::chrono::milliseconds kLeastPause(100);  // between two lines

std::string step_text(const TuneProgress& p) {
  switch (p.phase) {
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
    case TunePhase::kCalibrating:
      break;  // calibrate() draws it.
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

ProgressBar::ProgressBar()
    : lines_(std::getenv("ROOFTILE_PROGRESS_LINES") != nullptr),
      terminal_(lines_ || can_redraw(STDERR_FILENO)) {}

/// A calibration says nothing before its end.
void ProgressBar::calibrate(double budget_s) {
  using Clock = std::chrono::steady_clock;
  const auto draw_now = [this, budget_s, began = Clock::now()] {
    constexpr double kUsual_s = 15;
    const double past_s = std::chrono::duration<double>(Clock::now() - began).count();
    draw(fmt::format("{}calibrate, {:.0f} %, about {} left; then tune for {:.0f} s",
                     lines_ ? "0.00\t" : "", std::min(100 * past_s / kUsual_s, 99.0),
                     left_text(kUsual_s - past_s), budget_s));
  };
  draw_now();
  try {
    ticker_ = thread_without_signals([draw_now](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any wake;
      while (!wake.wait_for(lock, stop, std::chrono::seconds(1),
                            [&] { return stop.stop_requested(); }))
        draw_now();
    });
  } catch (const std::system_error&) {  // No thread can be created: the line stands.
  }
}

void ProgressBar::show(const TuneProgress& p) {
  ticker_ = {};
  if (!terminal_ || p.phase == TunePhase::kFinished) return;
  if (p.phase == TunePhase::kCalibrating) return calibrate(p.budget_s);
  const double share = std::clamp(p.elapsed_s / std::max(p.budget_s, 1e-9), 0.0, 1.0);
  std::string line = lines_ ? fmt::format("{:.2f}\t{}, ", share, step_text(p))
                            : fmt::format("{}, {:.0f} %, about {} left, ", step_text(p),
                                          100 * share, left_text(p.budget_s - p.elapsed_s));
  line += activity_text(p.phase) + p.problem;
  if (p.best_gflops > 0)
    line += fmt::format(": {:.1f} GFLOP/s, {:.0f} % of roof{}", p.best_gflops,
                        100 * p.roofline_share, p.limiter.empty() ? "" : ", " + p.limiter);
  draw(std::move(line));
}

void ProgressBar::draw(std::string line) {
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - drawn_ < kLeastPause) return;
  drawn_ = now;
  if (lines_) {
    line += "\n";
  } else {
    line.resize(std::min(line.size(), terminal_columns(STDERR_FILENO) - 1));
    line.insert(0, "\r\x1b[K");
  }
  fmt::print(stderr, "{}", line);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  ticker_ = {};
  if (!std::exchange(shown_, false) || lines_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace rooftile
