#pragma once

#include <string>

#include "tuner/tune.h"

namespace rooftile {

/// One redrawn line on a terminal; nothing elsewhere. Erases itself before other text.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  void show(const TuneProgress& progress);
  void clear();

 private:
  void draw(std::string line);

  bool terminal_;
  bool shown_ = false;
};

}  // namespace rooftile
