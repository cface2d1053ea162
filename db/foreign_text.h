// Text from files of others, on its way into ours: people print it on terminals. Inside db/ only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "db/connection.h"

namespace rooftile {

/// At most so many bytes of it, and a '?' for each byte that is no UTF-8 and for each control
/// character (C0 with newlines, DEL, C1).
std::string cleaned_text(std::string_view text, std::size_t most_bytes);

/// Whether it is a time of day as strftime('%Y-%m-%dT%H:%M:%fZ') writes it.
bool is_time(std::string_view text);

/// SQL functions of this connection: cleaned_text(text, most_bytes), is_time(text). NULL for NULL.
void add_text_functions(Connection& connection);

/// Letters, digits, blanks and -_.: only, 1 to most of them: keys and hashes, which are compared
/// and printed, and never cleaned.
bool is_plain(std::string_view text, std::size_t most);

}  // namespace rooftile
