// The one exception type of the project, and its codes. Only the C ABI turns it into status codes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace rooftile {

enum class ErrorCode {
  kInvalidArgument,  // a value of the caller's is wrong; nothing was changed
  kUnsupported,      // legal, but this device, driver or build cannot do it
  kOutOfMemory,
  kDevice,  // the driver failed or the device is lost
  kTimeout,
  kCompile,   // shader text or SPIR-V was refused
  kIo,        // a file or folder
  kDatabase,  // the tuning database
  kInternal,  // a defect in Rooftile itself
};

std::string_view name(ErrorCode code);

/// A message says what happened, where (file, device, argument) and what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rooftile
