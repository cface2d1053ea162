// The characters of names in GLSL's texts.
#pragma once

namespace rooftile {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_of_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

}  // namespace rooftile
