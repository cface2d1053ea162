#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "tuner/tune.h"

namespace rooftile {

/// One line on a terminal that is drawn anew at most ten times a second: step, share, time left,
/// and what is measured; nothing elsewhere. Erase it before other text. If
/// $ROOFTILE_PROGRESS_LINES is set, each drawing is a line of its own instead: the share that is
/// done, a tab and the text. The Python package sets it and draws (python/rooftile/_progress.py).
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  void show(const TuneProgress& progress);
  void clear();

 private:
  void calibrate(double budget_s);
  void draw(std::string line);

  bool lines_, terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point drawn_;
  std::jthread ticker_;  // draws while a calibration runs, and nothing else does then
};

}  // namespace rooftile
