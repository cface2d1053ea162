// What is known of the terminal that a stream writes to.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/text_table.h"

namespace rooftile {

/// Prints a table, on a terminal in lines that fit: texts that do not are broken within their
/// columns. What is no terminal gets a line a row.
void print_table(const TextTable& table, std::string_view indent = "");

/// Prints lines, on a terminal broken between words where they do not fit, with what follows
/// indented by two more.
void print_lines(std::string_view text);

/// Columns of the terminal behind this descriptor (STDOUT_FILENO, STDERR_FILENO): $COLUMNS, else
/// what the terminal says, else 80; 0 where there is no terminal, so that the output is for a
/// program.
std::size_t terminal_columns(int descriptor);

/// Whether the descriptor is a terminal on which a line can be drawn anew: not with TERM=dumb or
/// with a NO_COLOR that is not empty.
bool can_redraw(int descriptor);

}  // namespace rooftile
