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

/// Types that a JsonValue converts to.
template <typename T>
concept JsonScalar = (std::is_arithmetic_v<T> && !std::same_as<T, char>) ||
                     std::same_as<T, std::string> || std::same_as<T, std::vector<double>>;

/// Numbers are kept as in their text: unsigned without a sign, signed with one, double otherwise.
/// Reading a value as another type than its own throws kInvalidArgument.
class JsonValue {
 public:
  using Member = std::pair<std::string, JsonValue>;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;  ///< In their order.

  // Not inline: g++ 12 takes what is moved for uninitialized.
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
      scalar_ = value;
    else if constexpr (std::floating_point<T>)
      scalar_ = double{value};
    else if (std::in_range<std::uint64_t>(value))
      scalar_ = static_cast<std::uint64_t>(value);
    else
      scalar_ = static_cast<std::int64_t>(value);
  }
  JsonValue(std::string value) : kind_(Kind::kText), text_(std::move(value)) {}
  JsonValue(std::string_view value) : JsonValue(std::string(value)) {}
  JsonValue(const char* value) : JsonValue(std::string(value)) {}
  template <typename T>
  JsonValue(const std::vector<T>& values)
      : kind_(Kind::kArray), elements_(values.begin(), values.end()) {}
  JsonValue(std::initializer_list<Member> members) : kind_(Kind::kObject), members_(members) {}
  static JsonValue array();   ///< An empty one.
  static JsonValue object();  ///< An empty one.

  /// Empty where the text is no JSON, or nests deeper than 100 levels.
  static std::optional<JsonValue> parse(std::string_view text);
  /// The text, on one line. Numbers that are not finite become null, bytes that are no UTF-8
  /// U+FFFD.
  std::string dump() const;

  bool is_null() const { return kind_ == Kind::kScalar && is<std::monostate>(); }
  bool is_boolean() const { return is<bool>(); }
  bool is_number() const { return is_number_integer() || is<double>(); }
  bool is_number_integer() const { return is<std::int64_t>() || is_number_unsigned(); }
  bool is_number_unsigned() const { return is<std::uint64_t>(); }
  bool is_string() const { return kind_ == Kind::kText; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  /// Elements of an array.
  Array::const_iterator begin() const { return elements().begin(); }
  Array::const_iterator end() const { return elements().end(); }
  std::size_t size() const { return elements().size(); }
  const JsonValue& at(std::integral auto index) const {
    return element(static_cast<std::size_t>(index));
  }
  /// Only for an array.
  void push_back(JsonValue element) { elements_.push_back(std::move(element)); }

  /// The member of an object, the last one of that name; null where there is none.
  const JsonValue* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const JsonValue& at(std::string_view name) const;
  /// Only for an object.
  void add(std::string name, JsonValue value) {
    members_.emplace_back(std::move(name), std::move(value));
  }

  /// Whole numbers must be such, and within the range of T. Any number is a floating-point number.
  template <JsonScalar T>
  T get() const {
    if constexpr (std::same_as<T, std::vector<double>>) {
      return T(begin(), end());
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, std::string>) {
      require(is_string(), "no text");
      return text_;
    } else if constexpr (std::same_as<T, bool>) {
      require(is_boolean(), "neither true nor false");
      return std::get<bool>(scalar_);
    } else {
      const auto* const negative = std::get_if<std::int64_t>(&scalar_);
      const auto* const positive = std::get_if<std::uint64_t>(&scalar_);
      if (negative != nullptr && std::in_range<T>(*negative)) return static_cast<T>(*negative);
      if (positive != nullptr && std::in_range<T>(*positive)) return static_cast<T>(*positive);
      fail(ErrorCode::kInvalidArgument, "a value is no whole number, or out of range");
    }
  }
  template <JsonScalar T>
  operator T() const {
    return get<T>();
  }

 private:
  friend class JsonTree;
  enum class Kind : std::uint8_t { kScalar, kText, kArray, kObject };

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(scalar_);
  }
  static void require(bool is_so, const char* otherwise) {
    if (!is_so) fail(ErrorCode::kInvalidArgument, "a value is {}", otherwise);
  }
  const Array& elements() const {
    require(is_array(), "no list");
    return elements_;
  }
  const JsonValue& element(std::size_t index) const;
  double number() const;
  void append_to(std::string& text) const;

  // A variant of all would be smaller, but one of g++ 12 whose copying fails crashes.
  Kind kind_ = Kind::kScalar;
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double> scalar_;
  std::string text_;
  Array elements_;
  Object members_;
};

}  // namespace rooftile
