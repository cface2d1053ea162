// Headers of .npy files. What is read is written again and read as the same.
#include "cli/npy.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  read_or_refuse([&] {
    const NpyHeader header = parse_npy_header(text_of(bytes, count), "x.npy");
    require(header.data_offset_bytes <= count, "the header ends in the file");
    require(element_count(header) >= 0, "there are not less than no elements");
    shape_text(header.shape);
    const NpyHeader again = parse_npy_header(npy_header_bytes(header.type, header.shape), "x.npy");
    require(again.type == header.type && again.shape == header.shape,
            "a header that was written is read as it was");
  });
  return 0;
}
