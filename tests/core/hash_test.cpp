#include "core/hash.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace rooftile {
namespace {

// XXH3's published 128-bit value of the empty input: stored identities must not change with a
// library update.
TEST(Hash, IsXxh3At128Bits) {
  EXPECT_EQ(hash_hex(std::string_view()), "99aa06d3014798d86001c324468d497f");
}

RC_GTEST_PROP(Hash, Is32LowerCaseHexDigitsOfTheBytesAlone, (const std::string& text)) {
  const std::string hash = hash_hex(text);
  RC_ASSERT(hash.size() == 32u);
  RC_ASSERT(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  RC_ASSERT(hash == hash_hex(std::string(text)));
}

RC_GTEST_PROP(Hash, DependsOnEveryByte, (std::string text)) {
  RC_PRE(!text.empty());
  const std::string before = hash_hex(text);
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(text[at] ^ (1 << *rc::gen::inRange(0, 8)));
  RC_ASSERT(hash_hex(text) != before);
}

TEST(Hash, WordsAreTheirBytes) {
  const std::vector<std::uint32_t> words = {0x07230203, 0x00010300, 5};
  std::string bytes(words.size() * sizeof(words[0]), '\0');
  std::memcpy(bytes.data(), words.data(), bytes.size());
  EXPECT_EQ(hash_hex(words), hash_hex(bytes));
}

TEST(Hash, DependsOnTheLength) {
  EXPECT_NE(hash_hex(std::string_view("a\0", 2)), hash_hex(std::string_view("a\0\0", 3)));
}

}  // namespace
}  // namespace rooftile
