#include "core/json_value.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rooftile {

/// Receives the parts of a text in their order from nlohmann's parser, which keeps none of them.
class JsonTree {
 public:
  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_array(std::size_t) { return open(JsonValue::array()); }
  bool start_object(std::size_t) { return open(JsonValue::object()); }
  bool key(std::string& name) {
    open_.back()->add(std::move(name), {});
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

  JsonValue take() { return std::move(root_); }

 private:
  static constexpr std::size_t kMostLevels = 100;

  /// Where the next value belongs. What is open does not move until it is closed.
  JsonValue& place() {
    if (open_.empty()) return root_;
    JsonValue& around = *open_.back();
    return around.is_object() ? around.members_.back().second : around.elements_.emplace_back();
  }
  bool add(JsonValue value) {
    place() = std::move(value);
    return true;
  }
  bool open(JsonValue value) {
    if (open_.size() == kMostLevels) return false;
    JsonValue& there = place();
    there = std::move(value);
    open_.push_back(&there);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
};

JsonValue::JsonValue() = default;
JsonValue::JsonValue(const JsonValue&) = default;
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue&) = default;
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;
// Written out, because Clang 14 crashes at the default.
bool JsonValue::operator==(const JsonValue& other) const {
  return kind_ == other.kind_ && scalar_ == other.scalar_ && text_ == other.text_ &&
         elements_ == other.elements_ && members_ == other.members_;
}

JsonValue JsonValue::array() {
  JsonValue value;
  value.kind_ = Kind::kArray;
  return value;
}

JsonValue JsonValue::object() {
  JsonValue value;
  value.kind_ = Kind::kObject;
  return value;
}

std::optional<JsonValue> JsonValue::parse(std::string_view text) {
  JsonTree tree;
  if (!nlohmann::json::sax_parse(text, &tree)) return std::nullopt;
  return tree.take();
}

std::string JsonValue::dump() const {
  std::string text;
  append_to(text);
  return text;
}

void JsonValue::append_to(std::string& text) const {
  // Destroying a document of nlohmann's that is no array or object takes no memory.
  const auto write = [&](const auto& value) {
    text += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  char separator = is_array() ? '[' : '{';
  const auto separate = [&] {
    text += separator;
    separator = ',';
  };
  if (is_array()) {
    for (const JsonValue& element : elements_) {
      separate();
      element.append_to(text);
    }
    text += elements_.empty() ? "[]" : "]";
  } else if (is_object()) {
    for (const auto& [name, value] : members_) {
      separate();
      write(name);
      text += ':';
      value.append_to(text);
    }
    text += members_.empty() ? "{}" : "}";
  } else if (is_string()) {
    write(text_);
  } else if (is_null()) {
    text += "null";
  } else {
    std::visit(
        [&]<typename T>(T value) {
          if constexpr (std::is_arithmetic_v<T>) write(value);
        },
        scalar_);
  }
}

const JsonValue& JsonValue::element(std::size_t index) const {
  if (index >= size())
    fail(ErrorCode::kInvalidArgument, "an array of {} has no element {}", size(), index);
  return elements()[index];
}

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found = std::find_if(members_.rbegin(), members_.rend(),
                                  [&](const Member& member) { return member.first == name; });
  return found == members_.rend() ? nullptr : &found->second;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  if (const JsonValue* const value = find(name)) return *value;
  fail(ErrorCode::kInvalidArgument, "there is no '{}'", name);
}

double JsonValue::number() const {
  if (const auto* const value = std::get_if<std::int64_t>(&scalar_))
    return static_cast<double>(*value);
  if (const auto* const value = std::get_if<std::uint64_t>(&scalar_))
    return static_cast<double>(*value);
  require(is<double>(), "no number");
  return std::get<double>(scalar_);
}

}  // namespace rooftile
