// Whole numbers of JSON texts from outside. nlohmann::json converts 2e127 or 1.5 to an int without
// a check, which is undefined or another number.
#pragma once

#include <concepts>
#include <limits>
#include <utility>

#include "core/error.h"

namespace rooftile {

template <typename T>
concept WholeType = std::integral<T> && !std::same_as<T, bool>;

/// A value of nlohmann::json or a JsonValue that is converted to the integer type that it
/// initializes. The conversion throws kInvalidArgument for a value that is no whole number or that
/// the type cannot hold.
template <typename Json>
class WholeNumber {
 public:
  WholeNumber(const Json& value, const char* name) : value_(value), name_(name) {}

  template <WholeType Integer>
  operator Integer() const {  // NOLINT: it stands for the number.
    if (!value_.is_number_integer())
      fail(ErrorCode::kInvalidArgument, "'{}' is no whole number", name_);
    if (value_.is_number_unsigned()) return within<Integer>(value_.template get<std::uint64_t>());
    return within<Integer>(value_.template get<std::int64_t>());
  }

 private:
  template <typename Integer>
  Integer within(auto number) const {
    if (!std::in_range<Integer>(number))
      fail(ErrorCode::kInvalidArgument, "'{}' is {}; it must be from {} to {}", name_, number,
           std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
    return static_cast<Integer>(number);
  }

  const Json& value_;
  const char* name_;
};

/// The member of an object. The object must outlive the result; throws if it has no such member.
template <typename Json>
WholeNumber<Json> whole(const Json& object, const char* name) {
  return {object.at(name), name};
}

}  // namespace rooftile
