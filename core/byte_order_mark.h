// The mark that some programs, spreadsheets among them, write in front of UTF-8.
#pragma once

#include <istream>
#include <string_view>

namespace rooftile {

/// That of UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Takes a byte order mark of UTF-8 off the front of a text that nothing was read from yet.
inline void skip_byte_order_mark(std::istream& text) {
  std::size_t read = 0;
  while (read < kByteOrderMark.size() &&
         text.peek() == static_cast<unsigned char>(kByteOrderMark[read])) {
    text.get();
    ++read;
  }
  if (read == kByteOrderMark.size()) return;
  text.clear();
  for (; read > 0; --read) text.unget();
}

}  // namespace rooftile
