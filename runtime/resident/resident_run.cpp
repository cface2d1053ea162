#include "runtime/resident/resident_run.h"

#include "runtime/support/copy_bytes.h"

namespace rooftile {

bool Run::finished(double timeout_ns) const {
  if (!submission_.wait(timeout_ns)) return false;
  for (const auto& kernel : contents_.kernels) kernel->note_run();
  return true;
}

bool Run::wait(double timeout_ns) {
  if (!finished(timeout_ns)) return false;
  const std::lock_guard lock(landing_);
  if (landed_) return true;
  for (const Landing& landing : contents_.landings)
    copy_bytes(landing.from, landing.to, landing.bytes);
  landed_ = true;
  return true;
}

}  // namespace rooftile
