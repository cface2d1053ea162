#include "inspect/assembly_words.h"

#include <algorithm>

namespace rooftile {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trimmed(taken);
}

std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

std::optional<int> take_number(std::string_view& text) {
  constexpr int kMost = 1'000'000;
  int number = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    number = 10 * number + (text[digits++] - '0');
    if (number > kMost) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_text(std::string_view line) {
  return std::ranges::all_of(line, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

std::string quoted(std::string_view line) {
  constexpr std::size_t kMost = 60;
  std::string text;
  for (const char c : trimmed(line.substr(0, kMost))) text += c >= ' ' && c <= '~' ? c : '?';
  return "'" + text + "'";
}

double product_of_sides(std::string_view opcode, std::string_view letters) {
  for (std::size_t begin = 0; begin < opcode.size(); ++begin) {
    std::string_view rest = opcode.substr(begin);
    double product = 1;
    bool matches = true;
    // With "xx", numbers stand before, between and behind the letters.
    const bool leading = letters.front() == 'x';
    if (leading) {
      const bool whole = begin == 0 || opcode[begin - 1] < '0' || opcode[begin - 1] > '9';
      const auto side = whole ? take_number(rest) : std::nullopt;
      matches = side.has_value();
      product = side.value_or(0);
    }
    for (const char letter : letters) {
      if (!matches || rest.empty() || rest.front() != letter) {
        matches = false;
        break;
      }
      rest.remove_prefix(1);
      const auto side = take_number(rest);
      matches = side.has_value();
      product *= side.value_or(0);
    }
    if (matches) return product;
  }
  return 0;
}

}  // namespace rooftile
