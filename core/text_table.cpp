#include "core/text_table.h"

#include <algorithm>
#include <array>
#include <cstdint>

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
  return {code, bytes};
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

std::string padded(std::string_view text, std::size_t width, Align align) {
  const std::string spaces(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? std::string(text) + spaces : spaces + std::string(text);
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max(columns_[i].least_width, display_width(columns_[i].header));
    for (const std::vector<std::string>& row : rows_)
      if (i < row.size()) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      line += (i > 0 ? "  " : "") + padded(cell_of(i), widths[i], columns_[i].align);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line([&](std::size_t i) { return columns_[i].header; });
  for (const std::vector<std::string>& row : rows_)
    add_line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  return text;
}

}  // namespace rooftile
