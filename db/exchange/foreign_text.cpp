#include "db/exchange/foreign_text.h"

#include <sqlite3.h>

#include <algorithm>

#include "core/text_table.h"

namespace rooftile {
namespace {

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
