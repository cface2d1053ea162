// Results in the format T4, of strangers. What is read can be imported.
#include <sstream>

#include "formats/t4_read.h"
#include "generator/rules.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  read_or_refuse([&] {
    std::istringstream text{std::string(text_of(bytes, count))};
    const T4Results results = parse_t4(text, "file",
                                       {.problem = packed_problem(3, 4, 5),
                                        .device = [] { return DeviceProfile{.name = "device"}; }});
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
