#include "bench/contests/machine_code.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

std::string bytes_of(std::uint64_t value, int count) {
  std::string bytes;
  for (; count-- > 0; value >>= 8) bytes += static_cast<char>(value & 255);
  return bytes;
}

struct Section {
  std::uint32_t type, bytes, offset;
};

/// A container with this table and 64 bytes behind it, which are the digits 0 to 7.
std::string container(const std::vector<Section>& sections, std::uint64_t told, int version = 1) {
  std::string made = "NVDANVVMNVuc" + bytes_of(static_cast<std::uint64_t>(version), 4) +
                     bytes_of(told, 2) + std::string(22, '\x5a');
  for (const Section& one : sections)
    made += bytes_of(one.type, 4) + bytes_of(one.bytes, 4) + bytes_of(one.offset, 4) +
            std::string(20, '\xff');
  for (int i = 0; i < 64; ++i) made += static_cast<char>('0' + i / 8);
  return made;
}

std::string frame(const std::string& content) {
  std::string made(ZSTD_compressBound(content.size()), '\0');
  made.resize(ZSTD_compress(made.data(), made.size(), content.data(), content.size(), 3));
  return made;
}

std::string cache(const std::string& content) {
  return std::string(32, '\x20') + "CPKV" + std::string(64, '\1') + frame(content) + "end";
}

// Two sections: the table ends at byte 104, the code at 136, 128 from where offsets are counted.
const std::vector<Section> kSections = {{3, 8, 96}, {1, 32, 112}};

std::string refusal(const std::string& data) {
  return message_of([&] { machine_code(data); }, ErrorCode::kUnsupported);
}

TEST(MachineCodeTest, TheSectionOfCodeIsFoundWhereverItStands) {
  EXPECT_EQ(machine_code(cache(container(kSections, 2))), "22222222333333334444444455555555");
  EXPECT_EQ(machine_code(cache(container({{1, 16, 72}}, 1))), "1111111122222222");
  // The last bytes of the container are inside of it.
  EXPECT_EQ(machine_code(cache(container({{1, 16, 112}}, 1))), "6666666677777777");
}

TEST(MachineCodeTest, WhatIsNoContainerIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("no frame of zstd"));
  EXPECT_THAT(refusal(std::string(300, '\x28')), HasSubstr("no frame of zstd"));
  for (const std::string& other : {std::string(), std::string("NVDANVVMNVuc\1\0\0\0\1\0", 18),
                                   std::string(200, 'N'), container(kSections, 2, 2)})
    EXPECT_THAT(refusal(cache(other)), HasSubstr("no container NVuc of version 1"));
}

TEST(MachineCodeTest, SizesThatLeadOutsideAreRefused) {
  EXPECT_THAT(refusal(cache(container({{1, 16, 113}}, 1))),
              HasSubstr("16 B of code from byte 121"));
  const std::uint32_t most = ~std::uint32_t{0};
  for (const Section& wrong : {Section{1, 16, most}, Section{1, most - 15, 64},
                               Section{1, most - 15, most}, Section{1, 0, 64}, Section{1, 24, 64}})
    EXPECT_THAT(refusal(cache(container({wrong}, 1))), HasSubstr("B of code from byte"));
  EXPECT_THAT(refusal(cache(container(kSections, 5))), HasSubstr("end before its table of 5"));
  EXPECT_THAT(refusal(cache(container(kSections, 65535))), HasSubstr("table of 65535 sections"));
  EXPECT_THAT(refusal(cache(container(kSections, 1))), HasSubstr("none of the container's 1"));
  EXPECT_THAT(refusal(cache(container(kSections, 0))), HasSubstr("none of the container's 0"));
}

TEST(MachineCodeTest, ADamagedFrameIsRefused) {
  const std::string whole = frame(container(kSections, 2));
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  // Of a frame with a content size of eight bytes, which claims 2^40 B, and one that tells none.
  EXPECT_THAT(refusal("\x28\xb5\x2f\xfd\xe0" + bytes_of(std::uint64_t{1} << 40, 8) + whole),
              HasSubstr("does not tell a size of at most 67108864 B"));
  EXPECT_THAT(refusal("\x28\xb5\x2f\xfd" + bytes_of(0x5800, 2) + whole),
              HasSubstr("does not tell a size"));
  // Whatever a byte of it becomes, the answer is code or a sentence.
  for (std::size_t at = 4; at < whole.size(); ++at)
    for (const int flipped : {1, 128, 255}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flipped);
      refusal(damaged);
    }
}

}  // namespace
}  // namespace rooftile
