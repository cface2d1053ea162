// GGUF files: tensors lie within the file, side by side, and every block can be dequantised.
#include <span>
#include <vector>

#include "gguf/file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  const std::span file(bytes, count);
  read_or_refuse([&] {
    std::uint64_t end = 0;  // of the tensors so far
    for (const GgufTensor& tensor : parse_gguf(file, "x.gguf")) {
      const auto block = gguf_block(tensor.format);
      require(tensor.offset_bytes <= count, "a tensor begins in the file");
      require(tensor.bytes <= count - tensor.offset_bytes, "a tensor ends in the file");
      require(tensor.offset_bytes >= end, "a tensor lies behind the one before it");
      end = tensor.offset_bytes + tensor.bytes;
      if (!block) continue;
      std::vector<float> values(tensor.bytes / static_cast<std::uint64_t>(block->bytes) *
                                static_cast<std::uint64_t>(block->elements));
      require(static_cast<std::int64_t>(values.size()) == tensor.rows() * tensor.row(),
              "the bytes are those of the shape");
      dequantize(tensor.format, file.subspan(tensor.offset_bytes, tensor.bytes), values);
    }
  });
  return 0;
}
