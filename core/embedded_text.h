// Text files of the source tree that are embedded in the program at build time
// (cmake/EmbedText.cmake).
#pragma once

#include <span>
#include <string_view>

namespace rooftile {

struct EmbeddedText {
  std::string_view name;  // file name without folder
  std::string_view text;
};

}  // namespace rooftile
