#include "core/error.h"

#include <array>

namespace rooftile {

std::string_view name(ErrorCode code) {
  // No EnumWords, whose errors are those of this header.
  static constexpr std::array kWords = {"invalid argument", "unsupported", "out of memory",
                                        "device",           "timeout",     "compile",
                                        "input or output",  "database",    "internal"};
  static_assert(kWords.size() == static_cast<std::size_t>(ErrorCode::kInternal) + 1);
  return kWords[static_cast<std::size_t>(code)];
}

}  // namespace rooftile
