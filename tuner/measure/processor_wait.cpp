#include "tuner/measure/processor_wait.h"

#include <fstream>

#include "tuner/measure/matching_files.h"

namespace rooftile {

ProcessorWait processor_wait_now() {
  ProcessorWait sum;
  for (const std::string& file : matching_files("/proc/self/task/*/schedstat")) {
    double ran_ns = 0, waited_ns = 0;
    if (std::ifstream(file) >> ran_ns >> waited_ns) {
      sum.ran_ns += ran_ns;
      sum.waited_ns += waited_ns;
    }
  }
  return sum;
}

ProcessorWait operator-(const ProcessorWait& later, const ProcessorWait& earlier) {
  return {.ran_ns = later.ran_ns - earlier.ran_ns,
          .waited_ns = later.waited_ns - earlier.waited_ns};
}

}  // namespace rooftile
