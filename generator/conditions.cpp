#include "generator/conditions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "core/error.h"
#include "generator/names.h"

namespace rooftile {
namespace {

struct Binary {
  std::string_view sign;
  int rank;  // a higher one binds closer
};
// Longer signs before those that they begin with.
constexpr std::array<Binary, 13> kBinary = {{{"||", 1},
                                             {"&&", 2},
                                             {"==", 3},
                                             {"!=", 3},
                                             {"<=", 4},
                                             {">=", 4},
                                             {"<", 4},
                                             {">", 4},
                                             {"+", 5},
                                             {"-", 5},
                                             {"*", 6},
                                             {"/", 6},
                                             {"%", 6}}};

constexpr int kDeepest = 30;

class Parser {
 public:
  Parser(std::string_view text, const ValueOf& value_of, int depth)
      : text_(text), value_of_(value_of), depth_(depth) {}

  std::int64_t whole() {
    const std::int64_t value = choice(true);
    blanks();
    if (at_ != text_.size()) refuse();
    return value;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorCode::kInternal, "'{}' is no condition of a template", text_);
  }

  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view sign) {
    blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  std::string_view take_name() {
    blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Where `counts` is false, the value does not matter, and names need not be defined.
  std::int64_t choice(bool counts) {
    const std::int64_t condition = binary(1, counts);
    if (!take("?")) return condition;
    const std::int64_t chosen = choice(counts && condition != 0);
    if (!take(":")) refuse();
    const std::int64_t other = choice(counts && condition == 0);
    return condition != 0 ? chosen : other;
  }

  std::int64_t binary(int rank, bool counts) {
    std::int64_t left = unary(counts);
    for (;;) {
      blanks();
      const auto found = std::ranges::find_if(
          kBinary, [&](const Binary& b) { return text_.substr(at_).starts_with(b.sign); });
      if (found == kBinary.end() || found->rank < rank) return left;
      at_ += found->sign.size();
      const bool decided = (found->sign == "||" && left != 0) || (found->sign == "&&" && left == 0);
      left = result(found->sign, left, binary(found->rank + 1, counts && !decided),
                    counts && !decided);
    }
  }

  std::int64_t result(std::string_view sign, std::int64_t x, std::int64_t y, bool counts) const {
    if (sign == "||") return x != 0 || y != 0;
    if (sign == "&&") return x != 0 && y != 0;
    if (sign == "==") return x == y;
    if (sign == "!=") return x != y;
    if (sign == "<=") return x <= y;
    if (sign == ">=") return x >= y;
    if (sign == "<") return x < y;
    if (sign == ">") return x > y;
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    if (sign == "*") return x * y;
    if (y == 0) return counts ? (refuse(), 0) : 0;
    return sign == "/" ? x / y : x % y;
  }

  std::int64_t unary(bool counts) {
    if (take("!")) return unary(counts) == 0;
    if (take("-")) return -unary(counts);
    if (take("(")) {
      const std::int64_t value = choice(counts);
      if (!take(")")) refuse();
      return value;
    }
    blanks();
    if (at_ < text_.size() && is_of_name(text_[at_]) && !is_digit(text_[at_])) return named(counts);
    return number();
  }

  std::int64_t named(bool counts) {
    std::string_view name = take_name();
    if (name == "defined") {
      const bool parenthesis = take("(");
      name = take_name();
      if (parenthesis && !take(")")) refuse();
      return value_of_(name).has_value();
    }
    if (!counts) return 0;
    const std::optional<std::string_view> value = value_of_(name);
    if (!value)
      fail(ErrorCode::kInternal, "'{}' in the condition '{}' is not defined", name, text_);
    if (depth_ == kDeepest) refuse();  // a name that stands for itself
    return Parser(*value, value_of_, depth_ + 1).whole();
  }

  std::int64_t number() {
    const std::string_view digits = take_name();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) refuse();
    return value;
  }

  std::string_view text_;
  const ValueOf& value_of_;
  int depth_;  // how many names led to this text, one standing for the next
  std::size_t at_ = 0;
};

}  // namespace

std::int64_t value_of_condition(std::string_view expression, const ValueOf& value_of) {
  return Parser(expression, value_of, 0).whole();
}

}  // namespace rooftile
