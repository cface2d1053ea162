#include "core/json_whole.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "core/json_value.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using Parsed = nlohmann::json;

template <typename Integer>
Integer read(const char* text) {
  const Parsed json = Parsed::parse(text);
  const JsonValue value = JsonValue::parse(text).value();
  const Integer number = whole(json, "count");
  EXPECT_EQ(Integer{whole(value, "count")}, number);
  EXPECT_EQ(value.at("count").get<Integer>(), number);
  return number;
}

TEST(WholeNumber, HasTheTypeThatItInitializes) {
  EXPECT_EQ(read<int>(R"({"count": -7})"), -7);
  EXPECT_EQ(read<std::uint8_t>(R"({"count": 255})"), 255);
  EXPECT_EQ(read<std::uint64_t>(R"({"count": 18446744073709551615})"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(read<std::int64_t>(R"({"count": -9223372036854775808})"),
            std::numeric_limits<std::int64_t>::min());
}

// The message of an error, which a JsonValue gives as well.
std::string refusal(const auto& read) {
  return message_of([&] { std::ignore = read(); }, ErrorCode::kInvalidArgument);
}

// The message of the error that refuses a number.
template <typename Integer>
std::string refusal(const char* text) {
  const Parsed json = Parsed::parse(text);
  const JsonValue value = JsonValue::parse(text).value();
  const std::string message = refusal([&]() -> Integer { return whole(json, "count"); });
  EXPECT_EQ(refusal([&]() -> Integer { return whole(value, "count"); }), message);
  EXPECT_EQ(refusal([&]() -> Integer { return value.at("count"); }),
            "a value is no whole number, or out of range");
  return message;
}

TEST(WholeNumber, IsRefusedWhereItsTypeCannotHoldIt) {
  EXPECT_EQ(refusal<std::uint8_t>(R"({"count": 256})"), "'count' is 256; it must be from 0 to 255");
  EXPECT_EQ(refusal<std::uint32_t>(R"({"count": -1})"),
            "'count' is -1; it must be from 0 to 4294967295");
  EXPECT_THAT(refusal<std::int64_t>(R"({"count": 9223372036854775808})"),
              testing::StartsWith("'count' is 9223372036854775808; "));
}

TEST(WholeNumber, IsNothingElseThanAWholeNumber) {
  for (const char* text : {R"({"count": 2e127})", R"({"count": 1.5})", R"({"count": true})",
                           R"({"count": "1"})", R"({"count": null})", R"({"count": [1]})"})
    EXPECT_EQ(refusal<int>(text), "'count' is no whole number") << text;
  EXPECT_THROW(read<int>("{}"), Parsed::exception);
}

}  // namespace
}  // namespace rooftile
