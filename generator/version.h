#pragma once

#include <string_view>

namespace rooftile {

/// Part of every shader's hash. Raised when the meaning of templates or push constants changes
/// without their text changing.
inline constexpr std::string_view kGeneratorVersion = "2";

}  // namespace rooftile
