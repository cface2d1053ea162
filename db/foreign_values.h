// What the tables would take from a file of others, and no Rooftile writes. Inside db/ only.
#pragma once

#include <string_view>

#include "db/connection.h"

namespace rooftile {

/// The first thing in `theirs` that is no time of day, number or JSON as we write them, in words;
/// empty when there is none. The connection has add_text_functions.
std::string_view find_suspicious(Connection& connection);

/// "f32.nt", "f16_f16.nt.bias_column+relu".
bool is_signature(std::string_view text);

}  // namespace rooftile
