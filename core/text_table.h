// Text tables whose columns stay aligned for any UTF-8 content.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile {

/// Columns of a terminal that UTF-8 text takes: none for combining characters, two for East Asian
/// wide ones and emoji, one for each byte that is no UTF-8.
std::size_t display_width(std::string_view text);

/// Whether it is UTF-8 without control characters, so that a terminal prints it as it is and JSON
/// holds it.
bool is_printable(std::string_view text);

/// At most most_bytes bytes of the text, with a '?' for each byte that is no UTF-8 and for each
/// control character (C0 with newlines, DEL, C1): what texts of strangers go through before they
/// are stored or printed.
std::string cleaned_text(std::string_view text, std::size_t most_bytes = std::string_view::npos);

/// The text and as many spaces before or behind it as fill the width.
enum class Align { kLeft, kRight };
std::string padded(std::string_view text, std::size_t width, Align align);

/// A table of a header and rows. Each column is as wide as its widest cell. Two spaces separate
/// columns, and no line ends with spaces.
class TextTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::kRight;
    std::size_t least_width = 0;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Takes as many cells as there are columns, or fewer: the remaining ones stay empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// The table's lines, each with the indent in front and a newline at the end. columns: of a
  /// terminal, where lines are not to be longer; 0: a line a row. Columns that are aligned to the
  /// left are then made narrower, down to 12, and their cells broken into several lines. A table
  /// that does not fit even so becomes a paragraph for each row, with a line for each column.
  std::string text(std::string_view indent = "", std::size_t columns = 0) const;

 private:
  /// most: of a line, without the indent; 0 for any.
  std::vector<std::size_t> widths(std::size_t most) const;
  std::string paragraphs(std::string_view indent, std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rooftile
