// Checks and cleaning of text from files of other machines, which is later printed on terminals.
// Internal to db/.
#pragma once

#include <cstddef>
#include <string_view>

#include "db/sqlite/connection.h"

namespace rooftile {

/// Whether the text is a time as strftime('%Y-%m-%dT%H:%M:%fZ') writes it.
bool is_time(std::string_view text);

/// Adds the SQL functions cleaned_text(text, most_bytes) of core/text_table.h and is_time(text) to
/// this connection. They return NULL for NULL.
void add_text_functions(Connection& connection);

/// Whether the text is 1 to most letters, digits, blanks and characters of -_.: as keys and hashes
/// are, which are compared and printed and never cleaned.
bool is_plain(std::string_view text, std::size_t most);

}  // namespace rooftile
