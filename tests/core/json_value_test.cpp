#include "core/json_value.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace rooftile {
namespace {

using Json = nlohmann::ordered_json;

rc::Gen<JsonValue> any_value(int levels) {
  const auto leaf = rc::gen::oneOf(
      rc::gen::just(JsonValue()),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool x) { return JsonValue(x); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t x) { return JsonValue(x); }),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                   [](std::uint64_t x) { return JsonValue(x); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double x) { return JsonValue(x); }),
      rc::gen::map(rc::gen::string<std::string>(),
                   [](std::string x) { return JsonValue(std::move(x)); }));
  if (levels == 0) return leaf;
  const auto inner = rc::gen::mapcat(rc::gen::just(levels - 1), any_value);
  return rc::gen::oneOf(
      leaf,
      rc::gen::map(rc::gen::container<std::vector<JsonValue>>(inner),
                   [](const std::vector<JsonValue>& values) { return JsonValue(values); }),
      rc::gen::map(rc::gen::container<std::vector<JsonValue>>(inner),
                   [](const std::vector<JsonValue>& values) {
                     JsonValue object = JsonValue::object();
                     for (const JsonValue& value : values)
                       object.add("member \"" + std::to_string(object.dump().size()), value);
                     return object;
                   }));
}

// nlohmann::json is the judge of what a text says.
RC_GTEST_PROP(JsonValue, IsWrittenAsNlohmannWritesIt, ()) {
  const JsonValue value = *rc::gen::resize(12, any_value(2));
  const std::string text = value.dump();
  RC_ASSERT(Json::parse(text).dump(-1, ' ', false, Json::error_handler_t::replace) == text);
  RC_ASSERT(JsonValue::parse(text).value().dump() == text);
}

TEST(JsonValue, KeepsNumbersAsTheirTextHasThem) {
  const JsonValue numbers = JsonValue::parse("[7, -7, 7.0, 18446744073709551615, 1e3]").value();
  EXPECT_TRUE(numbers.at(0).is_number_unsigned());
  EXPECT_TRUE(numbers.at(1).is_number_integer() && !numbers.at(1).is_number_unsigned());
  EXPECT_FALSE(numbers.at(2).is_number_integer());
  EXPECT_EQ(numbers.at(3).get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(numbers.at(4).get<double>(), 1000);
  EXPECT_THROW(numbers.at(4).get<int>(), Error);
  EXPECT_EQ(numbers.dump(), "[7,-7,7.0,18446744073709551615,1000.0]");
}

TEST(JsonValue, ReadsNothingFromAValueOfAnotherType) {
  const JsonValue value = {{"text", "x"}, {"list", std::vector<double>{1, 2}}, {"text", "y"}};
  EXPECT_EQ(value.at("text").get<std::string>(), "y");
  EXPECT_EQ(value.at("list").get<std::vector<double>>(), (std::vector<double>{1, 2}));
  for (const auto& read : {+[](const JsonValue& v) { v.at("text").get<bool>(); },
                           +[](const JsonValue& v) { v.at("text").get<double>(); },
                           +[](const JsonValue& v) { v.at("list").get<std::string>(); },
                           +[](const JsonValue& v) { v.at("text").get<std::vector<double>>(); },
                           +[](const JsonValue& v) { v.at("text").begin(); },
                           +[](const JsonValue& v) { v.at("list").at(2); },
                           +[](const JsonValue& v) { v.at("list").at("text"); },
                           +[](const JsonValue& v) { v.at("other"); }})
    EXPECT_THROW(read(value), Error);
}

TEST(JsonValue, IsNotMadeOfWhatIsNoJson) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  for (const std::string text : {"", "{", "[1,]", "{\"a\" 1}", "nan", "1 2", "\"\xff\""})
    EXPECT_FALSE(JsonValue::parse(text)) << text;
  EXPECT_TRUE(JsonValue::parse(nested(100)));
  EXPECT_FALSE(JsonValue::parse(nested(101)));
}

TEST(JsonValue, WritesWhatJsonCannotHoldAsSomethingElse) {
  EXPECT_EQ(JsonValue(std::vector<double>{INFINITY, NAN}).dump(), "[null,null]");
  EXPECT_EQ(JsonValue("a\xff").dump(), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace rooftile
