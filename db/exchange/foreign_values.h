// Finds values in a file of another machine that the tables would accept but that no Rooftile
// writes. Internal to db/.
#pragma once

#include <string_view>

#include "db/sqlite/connection.h"

namespace rooftile {

/// A description of the first value in `theirs` that is no time, number or JSON as Rooftile writes
/// it; empty when there is none. The connection needs add_text_functions().
std::string_view find_suspicious(Connection& connection);

/// Whether the text is a signature such as "f32.nt", "f16_f16.nt.bias_column+relu" or
/// "f32.nn.grouped".
bool is_signature(std::string_view text);

}  // namespace rooftile
