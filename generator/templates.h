// The kernel templates, embedded at build time, so that no file is read at run time.
// templates/README.md describes them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedded_text.h"

namespace rooftile {

/// Every .comp and .glsl file below templates/, named by its path from there: "tiled.comp",
/// "epilogue/store_c.glsl".
std::span<const EmbeddedText> embedded_templates();
/// Text of one of them by its file name ("tiled.comp"). Throws kInternal for a file that does not
/// exist.
std::string_view template_text(std::string_view file);

/// Name and value, in the order in which they are written.
using Defines = std::vector<std::pair<std::string, std::string>>;
/// File that a template includes -> file that defines the same functions and replaces it.
using Includes = std::map<std::string, std::string>;

/// A self-contained GLSL text: #version, the comment (lines without slashes), the defines, then the
/// template with its includes expanded. The #ifndef blocks with default values of the given defines
/// are left out. Throws kInternal for a file that does not exist.
std::string expand(std::string_view file, const std::vector<std::string>& comment,
                   const Defines& defines, const Includes& includes);

/// The text without comments (templates have only those from // to the end of a line), trailing
/// blanks and empty lines.
std::string without_comments(std::string_view glsl);

}  // namespace rooftile
