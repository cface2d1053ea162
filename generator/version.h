#pragma once

#include <string_view>

namespace rooftile {

/// A part of every shader's hash. It is raised when the meaning of templates or push constants
/// changes and their text does not.
inline constexpr std::string_view kGeneratorVersion = "2";

}  // namespace rooftile
