// Processor affinity of threads. Internal to tuner/.
#pragma once

#include <sched.h>

#include <vector>

namespace rooftile {

/// Binds the calling thread to this processor. Returns false when that fails.
bool bind_to(int processor);

/// The calling thread's processor affinity, restored by the destructor.
class OwnProcessors {
 public:
  OwnProcessors();
  ~OwnProcessors();
  OwnProcessors(const OwnProcessors&) = delete;
  OwnProcessors& operator=(const OwnProcessors&) = delete;

  std::vector<int> all() const;  ///< Ascending; empty where the system does not provide it.

 private:
  cpu_set_t set_ = {};
  bool known_ = false;
};

}  // namespace rooftile
