// Checks and cleaning of text from files of other machines, which is later printed on terminals.
// Internal to db/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "db/sqlite/connection.h"

namespace rooftile {

/// At most most_bytes bytes of the text, with a '?' for each byte that is no UTF-8 and for each
/// control character (C0 with newlines, DEL, C1).
std::string cleaned_text(std::string_view text, std::size_t most_bytes);

/// Whether the text is a time as strftime('%Y-%m-%dT%H:%M:%fZ') writes it.
bool is_time(std::string_view text);

/// Adds the SQL functions cleaned_text(text, most_bytes) and is_time(text) to this connection. They
/// return NULL for NULL.
void add_text_functions(Connection& connection);

/// Whether the text is 1 to most letters, digits, blanks and characters of -_.: as keys and hashes
/// are, which are compared and printed and never cleaned.
bool is_plain(std::string_view text, std::size_t most);

}  // namespace rooftile
