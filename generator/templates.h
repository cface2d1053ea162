// The kernel templates, embedded at build time: no file is read at run time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedded_text.h"

namespace rooftile {

/// templates/: "tiled.comp", "store_c.glsl", ...
std::span<const EmbeddedText> embedded_templates();

using Defines = std::vector<std::pair<std::string, std::string>>;  // in the order they are written
using Includes = std::map<std::string, std::string>;  // file a template names -> file of the same
                                                      // functions to use instead

/// One self-contained GLSL text: #version, comment (lines without their slashes), defines, then the
/// template with its includes expanded and the defaults of what is defined left out. Throws
/// kInternal for a file that does not exist.
std::string expand(std::string_view file, const std::vector<std::string>& comment,
                   const Defines& defines, const Includes& includes);

}  // namespace rooftile
