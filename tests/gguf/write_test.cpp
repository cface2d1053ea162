#include "gguf/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/block_format.h"
#include "gguf/file.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(WriteGguf, ReaderFindsTheTensor) {
  for (const BlockLayout& layout : block_layouts()) {
    std::vector<std::uint8_t> file = gguf_header("w", layout.format, 3, 2 * layout.elements);
    const std::size_t header = file.size();
    const std::size_t blocks = std::size_t{6} * static_cast<std::size_t>(layout.bytes),
                      padding = gguf_padding(blocks).size();
    file.resize(header + blocks + padding);
    EXPECT_EQ(file.size() % 32, 0U) << "ggml loads whole multiples of the alignment";
    const std::vector<GgufTensor> tensors = parse_gguf(file, "x.gguf");
    ASSERT_THAT(tensors, SizeIs(1));
    EXPECT_EQ(tensors[0].name, "w");
    EXPECT_THAT(tensors[0].sizes, ElementsAre(3, 2 * layout.elements));
    EXPECT_EQ(tensors[0].offset_bytes, header);
    EXPECT_EQ(tensors[0].offset_bytes + tensors[0].bytes + padding, file.size());
    EXPECT_EQ(block_format(tensors[0].format), layout.format);
  }
}

}  // namespace
}  // namespace rooftile
