// The kernel templates, embedded at build time, so that no file is read at run time.
#pragma once

#include <span>
#include <string_view>

#include "core/embedded_text.h"

namespace rooftile {

/// Every .comp and .glsl file below templates/, named by its path from there: "tiled.comp",
/// "epilogue/c.glsl".
std::span<const EmbeddedText> embedded_templates();
/// Text of one of them by its file name ("tiled.comp"). Throws kInternal for a file that does not
/// exist.
std::string_view template_text(std::string_view file);

}  // namespace rooftile
