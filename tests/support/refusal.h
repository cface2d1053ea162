// What a call throws that must be refused: the Error, its message or its code.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "core/error.h"

namespace rooftile {

/// Returns the Error that the call throws. A call that throws none fails the test.
template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorCode::kInternal, "nothing was thrown"};
}

/// Returns the message of the Error that the call throws, or "" if it throws none.
/// code: what the error's code must be, as in AnyOf(ErrorCode::kIo, ErrorCode::kUnsupported)
template <typename Call>
std::string message_of(Call&& call, const testing::Matcher<ErrorCode>& code = testing::_) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_THAT(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

/// Returns the code of the Error that the call throws, or kInternal if it throws none.
template <typename Call>
ErrorCode code_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

}  // namespace rooftile
