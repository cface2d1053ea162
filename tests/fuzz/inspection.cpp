// The JSON of `rooftile inspect`. What is read can be shown, and is written again and read as the
// same.
#include "inspect/inspection.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  read_or_refuse([&] {
    const Inspection inspection = parse_inspection(text_of(bytes, count));
    const std::string written = inspection_json(inspection);
    require(inspection_json(parse_inspection(written)) == written,
            "an inspection that was written is read");
    inspection_text(inspection, Details::kForAll);
    inspection_page({inspection});
  });
  return 0;
}
