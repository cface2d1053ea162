// Words and numbers of a line of assembly. Private to inspect/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rooftile {

/// Returns the text up to the separator, without spaces at its ends, and removes it and the
/// separator.
std::string_view take_until(std::string_view& text, char separator);
std::string_view trimmed(std::string_view text);
/// Returns the first word and removes it.
std::string_view take_word(std::string_view& text);
/// A number of decimal digits at the start of the text, which is removed. Nothing where there is
/// none or it is above a million.
std::optional<int> take_number(std::string_view& text);
bool contains(std::string_view text, std::string_view part);
bool among(std::span<const std::string_view> names, std::string_view name);
/// Whether all characters can be part of an assembly's text. Binary data has others.
bool is_text(std::string_view line);
/// The text for a message: cut, with other characters replaced.
std::string quoted(std::string_view line);
/// The product of the sides of a matrix operation, which stand behind these letters in its name
/// ("m16n8k16" with "mnk"), or "16x16x16" with "xx". 0 where there is none.
double product_of_sides(std::string_view opcode, std::string_view letters);

}  // namespace rooftile
