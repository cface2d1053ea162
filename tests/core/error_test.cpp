#include "core/error.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/support/refusal.h"

namespace rooftile {
namespace {

TEST(Error, CarriesItsCodeAndFormattedMessage) {
  EXPECT_EQ(message_of([] { fail(ErrorCode::kCompile, "{} line {}: refused", "tiled.comp", 12); },
                       ErrorCode::kCompile),
            "tiled.comp line 12: refused");
}

TEST(Error, IsAStandardException) {
  EXPECT_THROW(fail(ErrorCode::kIo, "no file"), std::runtime_error);
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  constexpr ErrorCode kCodes[] = {ErrorCode::kInvalidArgument,
                                  ErrorCode::kUnsupported,
                                  ErrorCode::kOutOfMemory,
                                  ErrorCode::kDevice,
                                  ErrorCode::kTimeout,
                                  ErrorCode::kCompile,
                                  ErrorCode::kIo,
                                  ErrorCode::kDatabase,
                                  ErrorCode::kInternal};
  std::set<std::string_view> names;
  for (ErrorCode code : kCodes) names.insert(name(code));
  EXPECT_EQ(names.size(), std::size(kCodes));
  EXPECT_THAT(names, testing::Not(testing::Contains("unknown")));
}

}  // namespace
}  // namespace rooftile
