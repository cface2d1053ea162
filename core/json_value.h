// JSON as a value, where memory may run out. The destructor of nlohmann::json 3.11 takes memory and
// may not fail, so that a lack of memory there ends the program; the one of this type takes none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"

namespace rooftile {

/// Numbers are kept as in their text: unsigned without a sign, signed with one, double otherwise.
/// What reads a value throws kInvalidArgument where it is of another type.
class JsonValue {
 public:
  using Member = std::pair<std::string, JsonValue>;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;  ///< In their order.

  // Not inline: g++ 12 takes what a variant moves for uninitialized.
  JsonValue();  ///< null
  JsonValue(const JsonValue&);
  JsonValue(JsonValue&&) noexcept;
  JsonValue& operator=(const JsonValue&);
  JsonValue& operator=(JsonValue&&) noexcept;
  ~JsonValue();
  bool operator==(const JsonValue&) const;
  JsonValue(std::nullptr_t) {}
  template <typename T>
  requires(std::is_arithmetic_v<T>) JsonValue(T value) {
    if constexpr (std::same_as<T, bool>)
      value_ = value;
    else if constexpr (std::floating_point<T>)
      value_ = double{value};
    else if constexpr (std::unsigned_integral<T>)
      value_ = std::uint64_t{value};
    else
      value_ = std::int64_t{value};
  }
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  template <typename T>
  JsonValue(const std::vector<T>& values) : value_(Array(values.begin(), values.end())) {}
  JsonValue(std::initializer_list<Member> members) : value_(Object(members)) {}
  static JsonValue array();   ///< An empty one.
  static JsonValue object();  ///< An empty one.

  /// Empty where the text is no JSON, or nests deeper than 100 levels.
  static std::optional<JsonValue> parse(std::string_view text);
  /// The text, on one line. Numbers that are not finite become null, bytes that are no UTF-8
  /// U+FFFD.
  std::string dump() const;

  bool is_null() const { return is<std::monostate>(); }
  bool is_boolean() const { return is<bool>(); }
  bool is_number() const { return is_number_integer() || is<double>(); }
  bool is_number_integer() const { return is<std::int64_t>() || is_number_unsigned(); }
  bool is_number_unsigned() const { return is<std::uint64_t>(); }
  bool is_string() const { return is<std::string>(); }
  bool is_array() const { return is<Array>(); }
  bool is_object() const { return is<Object>(); }

  /// Elements of an array.
  Array::const_iterator begin() const { return elements().begin(); }
  Array::const_iterator end() const { return elements().end(); }
  std::size_t size() const { return elements().size(); }
  const JsonValue& at(std::integral auto index) const {
    return element(static_cast<std::size_t>(index));
  }
  /// Only for an array.
  void push_back(JsonValue element) { std::get<Array>(value_).push_back(std::move(element)); }

  /// The member of an object, the last one of that name; null where there is none.
  const JsonValue* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const JsonValue& at(std::string_view name) const;
  /// Only for an object.
  void add(std::string name, JsonValue value) {
    std::get<Object>(value_).emplace_back(std::move(name), std::move(value));
  }

  /// Whole numbers must be such, and within the range of T. Any number is a floating-point number.
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::same_as<T, std::string> ||
           std::same_as<T, std::vector<double>>) T get()
  const {
    if constexpr (std::same_as<T, std::vector<double>>) {
      return T(begin(), end());
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
      return as<T>(std::same_as<T, bool> ? "neither true nor false" : "no text");
    } else {
      const auto* const negative = std::get_if<std::int64_t>(&value_);
      const auto* const positive = std::get_if<std::uint64_t>(&value_);
      if (negative != nullptr && std::in_range<T>(*negative)) return static_cast<T>(*negative);
      if (positive != nullptr && std::in_range<T>(*positive)) return static_cast<T>(*positive);
      fail(ErrorCode::kInvalidArgument, "a value is no whole number, or out of range");
    }
  }
  template <typename T>
  requires(!std::same_as<T, char> && requires(const JsonValue& value) { value.get<T>(); })
  operator T() const {
    return get<T>();
  }

 private:
  friend class JsonTree;

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <typename T>
  const T& as(const char* otherwise) const {
    if (const T* const value = std::get_if<T>(&value_)) return *value;
    fail(ErrorCode::kInvalidArgument, "a value is {}", otherwise);
  }
  const Array& elements() const { return as<Array>("no list"); }
  const JsonValue& element(std::size_t index) const;
  double number() const;
  void append_to(std::string& text) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

}  // namespace rooftile
