#include "db/exchange/foreign_text.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>

namespace rooftile {
namespace {

/// Number of bytes of the printable UTF-8 character at the front; 0 for anything else.
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const std::uint32_t least = length == 2   ? 0xa0
                              : length == 3 ? 0x800
                                            : 0x10000;  // C1 ends at 0x9f
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= least && code <= 0x10ffff && !surrogate ? length : 0;
}

std::string_view text_argument(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void sql_cleaned_text(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;  // NULL stays NULL
  const std::string text =
      cleaned_text(text_argument(arguments[0]),
                   static_cast<std::size_t>(std::max(0, sqlite3_value_int(arguments[1]))));
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

void sql_is_time(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;
  sqlite3_result_int(context, is_time(text_argument(arguments[0])) ? 1 : 0);
}

}  // namespace

std::string cleaned_text(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty() && clean.size() < most_bytes) {
    const std::size_t bytes = printable_bytes(text);
    if (clean.size() + bytes > most_bytes) break;
    if (bytes > 0)
      clean.append(text.substr(0, bytes));
    else
      clean += '?';
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return clean;
}

bool is_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd.dddZ";
  return std::ranges::equal(text, kPattern, [](char c, char wanted) {
    return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted;
  });
}

void add_text_functions(Connection& connection) {
  connection.database().createFunction("cleaned_text", 2, true, nullptr, sql_cleaned_text);
  connection.database().createFunction("is_time", 1, true, nullptr, sql_is_time);
}

bool is_plain(std::string_view text, std::size_t most) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' ||
           c == '-' || c == '_' || c == '.' || c == ':';
  };
  return !text.empty() && text.size() <= most && std::ranges::all_of(text, plain);
}

}  // namespace rooftile
