// Which processors threads run on. Internal to tuner/.
#pragma once

#include <sched.h>

#include <vector>

namespace rooftile {

/// Whether the calling thread runs on this processor alone from now on.
bool bind_to(int processor);

/// The calling thread's processors: as they were at first when it is destroyed.
class OwnProcessors {
 public:
  OwnProcessors();
  ~OwnProcessors();
  OwnProcessors(const OwnProcessors&) = delete;
  OwnProcessors& operator=(const OwnProcessors&) = delete;

  std::vector<int> all() const;  // ascending; empty where the system does not say

 private:
  cpu_set_t set_ = {};
  bool known_ = false;
};

}  // namespace rooftile
