#pragma once

#include "formats/stored_rows.h"

namespace rooftile {

/// Hands a table of all samples, with a header, to `write` piece by piece, and returns the number
/// of its rows. Commas, quotes and line breaks are quoted as in RFC 4180, lines end with \n, and
/// times are in ns (docs/sharing.md has the columns).
std::size_t export_csv(const Store& store, const RowFilter& filter, const Buffered::Write& write);

/// A cell as RFC 4180 writes it.
std::string csv_cell(std::string_view text);

}  // namespace rooftile
