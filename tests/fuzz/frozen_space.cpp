// CSV of measured search spaces. What is read is written again and read as the same.
#include "tuner/search/frozen_space.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  read_or_refuse([&] {
    const std::string written = to_csv(parse_frozen_space(text_of(bytes, count), "x.csv"));
    require(to_csv(parse_frozen_space(written, "x.csv")) == written,
            "a space that was written is read");
  });
  return 0;
}
