// Puts the texts of kernels together from the templates. templates/README.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/template_text.h"

namespace rooftile {

/// A parameter's name or value as templates write it: "tile_m" is TILE_M there.
std::string in_capitals(std::string_view text);

/// Name and value, in the order in which they are written.
using Defines = std::vector<std::pair<std::string, std::string>>;

/// A self-contained GLSL text: #version, the comment at the head of the template, the comment given
/// here (lines without slashes), the defines, then the rest of the template with its includes in
/// their places. Conditions (#if) are decided, so that only what
/// compiles is left, and so are defines that nothing uses. templates/README.md says what templates
/// may contain. Throws kInternal, with file and line, for a file that does not exist and for a
/// condition with a name that is not defined.
std::string expand(std::string_view file, const std::vector<std::string>& comment,
                   const Defines& defines);

/// The text without comments (templates have only those from // to the end of a line), trailing
/// blanks and empty lines.
std::string without_comments(std::string_view glsl);

}  // namespace rooftile
