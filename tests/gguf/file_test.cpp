// Files that are built here, whole and damaged. What the blocks stand for is compared with NumPy in
// tests/cli/test_gguf.py.
#include "gguf/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/numbers/random.h"
#include "gguf/mapped_file.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint32_t kF32 = 0, kQ8 = 8, kQ4K = 12, kIq2 = 17, kUint32 = 4, kStringType = 8,
                        kArray = 9;

/// Builds a file: header, then metadata and tensors as they are added.
class Builder {
 public:
  template <typename Number>
  Builder& number(Number value) {
    for (std::size_t byte = 0; byte < sizeof value; ++byte)
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * byte));
    return *this;
  }
  Builder& text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  Builder& header(std::uint64_t tensors, std::uint64_t pairs, std::uint32_t version = 3) {
    bytes_.assign({'G', 'G', 'U', 'F'});
    return number(version).number(tensors).number(pairs);
  }
  Builder& tensor(std::string_view name, std::vector<std::uint64_t> sizes, std::uint32_t format,
                  std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) number(size);
    return number(format).number(offset);
  }
  /// Ends the header and adds so many bytes of data.
  Bytes with_data(std::size_t count, std::size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(0);
    bytes_.resize(bytes_.size() + count, 0x5a);
    return bytes_;
  }

 private:
  Bytes bytes_;
};

/// Two tensors and metadata of every kind.
Bytes whole_file() {
  Builder file;
  file.header(2, 4);
  file.text("general.name").number(kStringType).text("a model");
  file.text("general.alignment").number(kUint32).number<std::uint32_t>(64);
  file.text("tokens").number(kArray).number(kStringType).number<std::uint64_t>(2);
  file.text("one").text("two");
  file.text("numbers").number(kArray).number(kUint32).number<std::uint64_t>(3);
  for (std::uint32_t i = 0; i < 3; ++i) file.number(i);
  file.tensor("first", {64, 3}, kQ8, 0);
  file.tensor("second", {256}, kQ4K, 256);
  return file.with_data(256 + 144, 64);
}

std::string refusal(const Bytes& bytes) {
  return message_of([&] { parse_gguf(bytes, "x.gguf"); },
                    testing::AnyOf(ErrorCode::kIo, ErrorCode::kUnsupported));
}

TEST(ParseGguf, FindsTheTensorsBehindAllKindsOfMetadata) {
  const Bytes bytes = whole_file();
  const std::vector<GgufTensor> tensors = parse_gguf(bytes, "x.gguf");
  ASSERT_THAT(tensors, SizeIs(2));
  EXPECT_EQ(tensors[0].name, "first");
  EXPECT_THAT(tensors[0].sizes, ElementsAre(3, 64)) << "rows first";
  EXPECT_EQ(tensors[0].rows(), 3);
  EXPECT_EQ(tensors[0].bytes, 3u * 2 * 34);
  EXPECT_EQ(tensors[1].rows(), 1);
  EXPECT_EQ(tensors[1].offset_bytes + tensors[1].bytes, bytes.size());
  EXPECT_EQ(tensors[0].offset_bytes % 64, 0u);
  EXPECT_EQ(format_text(tensors[1]), "Q4_K");
}

TEST(ParseGguf, ListsTensorsOfFormatsThatItDoesNotRead) {
  Builder file;
  const Bytes bytes = file.header(3, 0)
                          .tensor("a", {256, 2}, kIq2, 0)
                          .tensor("b", {8}, kF32, 160)
                          .tensor("c", {7}, 77, 192)
                          .with_data(192 + 5);
  const std::vector<GgufTensor> tensors = parse_gguf(bytes, "x.gguf");
  EXPECT_EQ(format_text(tensors[0]), "IQ2_XS");
  EXPECT_EQ(tensors[0].bytes, 2u * 74);
  EXPECT_EQ(format_text(tensors[2]), "format 77");
  EXPECT_EQ(tensors[2].bytes, 0u);
  EXPECT_EQ(tensors[2].offset_bytes, bytes.size() - 5);
  EXPECT_FALSE(gguf_block(tensors[0].format));
}

// Bits of a weight as ggml's documents and sources name them.
TEST(GgmlBlock, KnowsNameAndSizeOfEveryFormat) {
  struct Format {
    std::uint32_t number;
    const char* name;
    double bits;
  };
  for (const auto& [number, name, bits] : std::initializer_list<Format>{
           {0, "F32", 32},         {1, "F16", 16},          {2, "Q4_0", 4.5},
           {3, "Q4_1", 5},         {6, "Q5_0", 5.5},        {7, "Q5_1", 6},
           {8, "Q8_0", 8.5},       {9, "Q8_1", 9},          {10, "Q2_K", 2.625},
           {11, "Q3_K", 3.4375},   {12, "Q4_K", 4.5},       {13, "Q5_K", 5.5},
           {14, "Q6_K", 6.5625},   {15, "Q8_K", 9.125},     {16, "IQ2_XXS", 2.0625},
           {17, "IQ2_XS", 2.3125}, {18, "IQ3_XXS", 3.0625}, {19, "IQ1_S", 1.5625},
           {20, "IQ4_NL", 4.5},    {21, "IQ3_S", 3.4375},   {22, "IQ2_S", 2.5625},
           {23, "IQ4_XS", 4.25},   {24, "I8", 8},           {25, "I16", 16},
           {26, "I32", 32},        {27, "I64", 64},         {28, "F64", 64},
           {29, "IQ1_M", 1.75},    {30, "BF16", 16},        {34, "TQ1_0", 1.6875},
           {35, "TQ2_0", 2.0625},  {39, "MXFP4", 4.25},     {40, "NVFP4", 4.5},
           {41, "Q1_0", 1.125},    {42, "Q2_0", 2.25}}) {
    const auto block = ggml_block(number);
    ASSERT_TRUE(block) << name;
    EXPECT_EQ(block->name, name);
    EXPECT_EQ(8 * static_cast<double>(block->bytes) / static_cast<double>(block->elements), bits)
        << name;
  }
  EXPECT_EQ(gguf_format_name(31), "Q4_0_4_4");
  for (const std::uint32_t number : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, ~0u})
    EXPECT_FALSE(ggml_block(number));
}

// ggml refuses all of these. Its tensors lie side by side, each at the next multiple of the
// alignment.
TEST(ParseGguf, RefusesTensorsThatLieElsewhereThanGgmlPutsThem) {
  Builder b;
  const auto two = [&](std::uint64_t first, std::uint64_t second, std::uint32_t format = kF32) {
    return refusal(b.header(2, 0)
                       .tensor("a", {9}, format, first)
                       .tensor("b", {8}, kF32, second)
                       .with_data(512));
  };
  EXPECT_EQ(two(0, 64), "");
  EXPECT_EQ(two(0, 0),
            "x.gguf is damaged: tensor b begins at byte 0 of the data instead of at 64: "
            "tensors follow each other, at multiples of 32");
  EXPECT_THAT(two(0, 32), HasSubstr("tensor b begins at byte 32 of the data instead of at 64"));
  EXPECT_THAT(two(0, 96), HasSubstr("tensor b begins at byte 96 of the data instead of at 64"));
  EXPECT_THAT(two(32, 0), HasSubstr("tensor a begins at byte 32 of the data instead of at 0"));
  // Formats that ggml never had, or has no more.
  EXPECT_THAT(two(0, 96, 77), HasSubstr("tensor a has the unknown format 77, so that where"));
  EXPECT_THAT(two(0, 32, 31), HasSubstr("tensor a has the unknown Q4_0_4_4, so that where"));
  // Data that lies at multiples of 32, in a file that names another alignment.
  b.header(2, 1).text("general.alignment").number(kUint32).number<std::uint32_t>(8);
  b.tensor("a", {3}, kF32, 0).tensor("b", {8}, kF32, 32);
  EXPECT_THAT(refusal(b.with_data(64)),
              HasSubstr("tensor b begins at byte 32 of the data instead of at 16: tensors follow "
                        "each other, at multiples of 8"));
  // A tensor without elements takes no room.
  EXPECT_EQ(
      refusal(b.header(2, 0).tensor("a", {0}, kF32, 0).tensor("b", {8}, kF32, 0).with_data(32)),
      "");
}

TEST(ParseGguf, SaysWhatIsWrong) {
  Builder b;
  EXPECT_THAT(refusal({'n', 'o'}), HasSubstr("x.gguf is no GGUF file"));
  EXPECT_THAT(refusal(b.header(0, 0, 1).with_data(0)), HasSubstr("of version 1"));
  EXPECT_THAT(refusal(b.header(~0ULL, 0).with_data(64)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(b.header(0, ~0ULL).with_data(0)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {33}, kQ8, 0).with_data(64)),
              HasSubstr("33 elements, no multiple of the 32 of Q8_0"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {64}, kQ8, 0).with_data(67)),
              HasSubstr("lies beyond the end"));
  // The padding of the header ends behind the file.
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {32}, 77, 0).with_data(0, 1)),
              HasSubstr("lies beyond the end"));
  EXPECT_THAT(
      refusal(b.header(1, 0).tensor("t", {1ULL << 62, 1ULL << 62, 32}, kQ8, 0).with_data(64)),
      HasSubstr("more elements than can be counted"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {1ULL << 60}, 0, 0).with_data(64)),
              HasSubstr("beyond the end"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {1ULL << 62}, 0, 0).with_data(64)),
              HasSubstr("more bytes than can be counted"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {1ULL << 63}, 0, 0).with_data(64)),
              HasSubstr("has a size of"));
  EXPECT_THAT(refusal(b.header(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0).with_data(64)),
              HasSubstr("5 sizes"));
  // Escapes of terminals, also as one character of UTF-8; what is no UTF-8.
  for (const char* name : {"\033[31m", "a\x7f", "\u009b31m", "w\xff", "w\xc1\x81", "\xe2\x82"})
    EXPECT_THAT(refusal(b.header(1, 0).tensor(name, {1}, 0, 0).with_data(64)),
                HasSubstr("printable UTF-8"))
        << name;
  const auto named = [&](std::size_t bytes) {
    return refusal(b.header(1, 0).tensor(std::string(bytes, 'n'), {1}, 0, 0).with_data(64));
  };
  EXPECT_EQ(named(63), "");
  EXPECT_THAT(named(64), HasSubstr("1 to 63 bytes"));
  EXPECT_EQ(refusal(b.header(1, 0).tensor("größe.重み", {1}, 0, 0).with_data(64)), "");
  EXPECT_THAT(refusal(b.header(2, 0).tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 0).with_data(64)),
              HasSubstr("two tensors have the name t"));
  b.header(0, 1).text("key").number(kArray).number(kUint32).number<std::uint64_t>(1ULL << 61);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("array of its metadata exceeds the file"));
  b.header(0, 1).text("general.alignment").number(kUint32).number<std::uint32_t>(0);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("alignment is 0"));
  b.header(0, 1).text("general.alignment").number(kUint32).number<std::uint32_t>(24);
  EXPECT_THAT(refusal(b.with_data(64)),
              HasSubstr("alignment is 24, no power of two from 8 to 1048576"));
  b.header(0, 1).text("general.alignment").number(kUint32).number<std::uint32_t>(1 << 21);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("alignment is 2097152, no power of two"));
  for (const char* key : {"general.alignment", "general.file_type"}) {
    b.header(0, 2);
    for (int i = 0; i < 2; ++i) b.text(key).number(kUint32).number<std::uint32_t>(32);
    EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("two values of its metadata have the same"));
  }
  b.header(0, 1).text("key").number(kArray).number(kArray).number<std::uint64_t>(1);
  b.number(kUint32).number<std::uint64_t>(1).number<std::uint32_t>(7);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("an array of arrays"));
  b.header(0, 1).text("key").number<std::uint32_t>(13).number<std::uint64_t>(1);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("metadata of the unknown type 13"));
  constexpr std::uint32_t kUint64 = 10;
  b.header(0, 1).text("general.alignment").number(kUint64).number<std::uint64_t>(64);
  EXPECT_THAT(refusal(b.with_data(64)), HasSubstr("alignment is no unsigned integer of 32 bits"));
}

// Each mutation either leaves a file that can be read to its last block, or is refused.
TEST(ParseGguf, TenThousandMutatedFilesAreReadWithinTheirBoundsOrRefused) {
  const Bytes whole = whole_file();
  Random random(1);
  std::size_t accepted = 0;
  for (int round = 0; round < 10'000; ++round) {
    Bytes bytes = whole;
    for (std::size_t i = 0; i <= random.below(4); ++i)
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(
          random.below(3) == 0 ? random.below(2) * 255 : random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    bytes.shrink_to_fit();
    try {
      for (const GgufTensor& tensor : parse_gguf(bytes, "x.gguf")) {
        const auto block = gguf_block(tensor.format);
        if (!block) continue;
        std::vector<float> values(tensor.bytes / static_cast<std::uint64_t>(block->bytes) *
                                  static_cast<std::uint64_t>(block->elements));
        dequantize(tensor.format, std::span(bytes).subspan(tensor.offset_bytes, tensor.bytes),
                   values);
      }
      ++accepted;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 1000u) << "mutated data must still be read";
  EXPECT_LT(accepted, 9000u);
}

GgufFile mapped(const ScratchFolder& folder, const Bytes& bytes) {
  std::ofstream(folder / "x.gguf", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return GgufFile(folder / "x.gguf");
}

TEST(GgufFile, MapsAFileAndFindsItsTensors) {
  const ScratchFolder folder;
  const Bytes bytes = whole_file();
  const GgufFile file = mapped(folder, bytes);
  EXPECT_THAT(file.blocks(file.tensor("second")), SizeIs(144));
  const auto complaint = [&](std::string_view name) {
    return std::string(error_of([&] { file.tensor(name); }).what());
  };
  EXPECT_THAT(complaint("irs"), HasSubstr("no tensor 'irs'; similar: first; `rooftile gguf "));
  for (const char* misspelt : {"secnd", "secondd", "sexond", "Second", "scond1"})
    EXPECT_THAT(complaint(misspelt), HasSubstr("; similar: second; "));
  EXPECT_THAT(complaint("sfcirt"), Not(HasSubstr("similar")));
}

TEST(GgufFile, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  std::ofstream(folder / "empty.gguf") << "";
  for (const std::filesystem::path& path :
       {folder / "empty.gguf", folder / "missing.gguf", std::filesystem::path("/"),
        std::filesystem::path("/dev/null")})
    EXPECT_THROW(GgufFile file(path), Error) << path;
}

}  // namespace
}  // namespace rooftile
