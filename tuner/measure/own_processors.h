// Processor affinity of threads. Internal to tuner/.
#pragma once

#include <vector>

namespace rooftile {

/// The processors that the calling thread may use, ascending; none where the system tells none.
std::vector<int> own_processors();

/// Binds the calling thread to this processor.
void bind_to(int processor);

}  // namespace rooftile
