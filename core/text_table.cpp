#include "core/text_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace rooftile {
namespace {

struct Range {
  char32_t first, last;
  bool holds(char32_t c) const { return first <= c && c <= last; }
};

// Unicode 15: combining marks, joiners and variation selectors.
constexpr std::array kNoColumn = {Range{0x300, 0x36f},   Range{0x200b, 0x200f},
                                  Range{0x20d0, 0x20f0}, Range{0xfe00, 0xfe0f},
                                  Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}};
// East_Asian_Width W and F, in rough ranges.
constexpr std::array kTwoColumns = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},  Range{0xac00, 0xd7a3},
    Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},  Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd}};

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The first character; a byte that begins none is a character of its own.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0x80             ? 1
                            : (lead & 0xe0) == 0xc0 ? 2
                            : (lead & 0xf0) == 0xe0 ? 3
                            : (lead & 0xf8) == 0xf0 ? 4
                                                    : 1;
  if (bytes == 1 || bytes > text.size()) return {lead, 1};
  char32_t code = lead & (0x7fu >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return {lead, 1};
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool legal =
      code >= kLeast[bytes] && code <= 0x10ffff && !Range{0xd800, 0xdfff}.holds(code);
  return legal ? Character{code, bytes} : Character{lead, 1};
}

/// Whether it is UTF-8 and no control character.
bool prints(const Character& c) {
  const bool no_utf8 = c.bytes == 1 && c.code >= 0x80;
  return !no_utf8 && c.code >= 0x20 && !Range{0x7f, 0x9f}.holds(c.code);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character c = first_of(text);
    const auto holds = [&](const Range& range) { return range.holds(c.code); };
    width += std::ranges::any_of(kNoColumn, holds)     ? 0u
             : std::ranges::any_of(kTwoColumns, holds) ? 2u
                                                       : 1u;
    text.remove_prefix(c.bytes);
  }
  return width;
}

bool is_printable(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(first_of(text).bytes))
    if (!prints(first_of(text))) return false;
  return true;
}

std::string cleaned_text(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const Character c = first_of(text);
    const std::string_view written = prints(c) ? text.substr(0, c.bytes) : "?";
    if (written.size() > most_bytes - clean.size()) break;
    clean += written;
    text.remove_prefix(c.bytes);
  }
  return clean;
}

std::string padded(std::string_view text, std::size_t width, Align align) {
  const std::string spaces(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? std::string(text) + spaces : spaces + std::string(text);
}

namespace {

/// The first part of the text that takes at most this many columns: up to a space where there is
/// one, and never nothing.
std::string_view first_part(std::string_view text, std::size_t width) {
  std::size_t bytes = 0, space = 0;
  for (std::size_t taken = 0; bytes < text.size();) {
    const std::string_view rest = text.substr(bytes);
    const std::size_t length = first_of(rest).bytes;
    taken += display_width(rest.substr(0, length));
    if (taken > width && bytes > 0) break;
    if (text[bytes] == ' ') space = bytes;
    bytes += length;
  }
  if (bytes == text.size() || text[bytes] == ' ' || space == 0) return text.substr(0, bytes);
  return text.substr(0, space);
}

/// The lines of a cell that is at most this wide.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  do {
    const std::string_view part = first_part(text, width);
    lines.emplace_back(part);
    text.remove_prefix(part.size());
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  } while (!text.empty());
  return lines;
}

}  // namespace

std::vector<std::size_t> TextTable::widths(std::size_t most) const {
  constexpr std::size_t kNarrowest = 12;
  std::vector<std::size_t> widths;
  std::size_t all = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].least_width, display_width(columns_[i].header));
    for (const std::vector<std::string>& row : rows_)
      if (i < row.size()) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
    all += width + (i > 0 ? 2 : 0);
  }
  // The widest of the columns that can be broken gives way first.
  for (; most > 0 && all > most; --all) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (columns_[i].align == Align::kLeft && widths[i] > kNarrowest &&
          (widest == nullptr || widths[i] > *widest))
        widest = &widths[i];
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string TextTable::paragraphs(std::string_view indent, std::size_t columns) const {
  std::size_t names = 0;
  for (const Column& column : columns_) names = std::max(names, display_width(column.header));
  const std::size_t before = display_width(indent) + names + 2;
  const std::size_t width = columns > before ? columns - before : 1;
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    if (!text.empty()) text += "\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string name = columns_[i].header;
      for (const std::string& part : broken(row[i], width)) {
        const std::string line =
            std::string(indent) + padded(name, names, Align::kLeft) + "  " + part;
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        name.clear();
      }
    }
  }
  return text;
}

std::string TextTable::text(std::string_view indent, std::size_t columns) const {
  const std::size_t indented = std::min(columns, display_width(indent));
  const std::vector<std::size_t> widths = this->widths(columns - indented);
  const std::size_t whole = std::accumulate(
      widths.begin(), widths.end(), indented + 2 * std::max<std::size_t>(widths.size(), 1) - 2);
  if (columns > 0 && whole > columns && !rows_.empty()) return paragraphs(indent, columns);
  std::string text;
  const auto add_row = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> cells;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = cell_of(i);
      cells.push_back(columns > 0 && columns_[i].align == Align::kLeft ? broken(cell, widths[i])
                                                                       : std::vector{cell});
      lines = std::max(lines, cells.back().size());
    }
    for (std::size_t at = 0; at < lines; ++at) {
      std::string line(indent);
      for (std::size_t i = 0; i < columns_.size(); ++i)
        line += (i > 0 ? "  " : "") +
                padded(at < cells[i].size() ? cells[i][at] : "", widths[i], columns_[i].align);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  };
  add_row([&](std::size_t i) { return columns_[i].header; });
  for (const std::vector<std::string>& row : rows_)
    add_row([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  return text;
}

}  // namespace rooftile
