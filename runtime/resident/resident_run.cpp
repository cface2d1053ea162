#include "runtime/resident/resident_run.h"

#include <cstring>

namespace rooftile {

bool Run::wait(double timeout_ns) {
  if (!submission_.wait(timeout_ns)) return false;
  const std::lock_guard lock(landing_);
  if (landed_) return true;
  for (const Landing& landing : contents_.landings)
    std::memcpy(landing.to, landing.from, landing.bytes);
  landed_ = true;
  return true;
}

}  // namespace rooftile
