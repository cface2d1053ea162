#include "tuner/measure/processor_wait.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace rooftile {

ProcessorWait processor_wait_now() {
  ProcessorWait sum;
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    double ran_ns = 0, waited_ns = 0;
    if (std::ifstream(thread.path() / "schedstat") >> ran_ns >> waited_ns) {
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
