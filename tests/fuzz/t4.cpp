// Results in the format T4, of strangers. What is read can be imported.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "formats/t4_read.h"
#include "generator/rules.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const int file = ::memfd_create("results.json", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  require(
      ::ftruncate(file, 0) == 0 && ::pwrite(file, bytes, count, 0) == static_cast<ssize_t>(count),
      "the file is written");
  is_t4_file(path);
  read_or_refuse([&] {
    const T4Results results = read_t4(path, {.problem = packed_problem(3, 4, 5), .device = [] {
                                               return DeviceProfile{.name = "device"};
                                             }});
    for (const T4Result& result : results.results) {
      const Problem& p = results.problems.at(result.problem);
      const DeviceLimits& limits = results.devices.at(result.device).limits;
      illegal_reason(result.variant, limits, signature_of(p));
      require(result.sample.status != SampleStatus::kMeasured || result.sample.kernel.count > 0,
              "a measured result has runs");
    }
  });
  return 0;
}
