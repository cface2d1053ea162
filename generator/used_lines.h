// What of a kernel's text the kernel uses.
#pragma once

#include <span>
#include <vector>

#include "generator/template_lines.h"

namespace rooftile {

/// The lines without the defines, macros, constants and functions whose names no other line
/// contains, and without the comments in front of them. Variables, buffers and main() stay.
std::vector<const TemplateLine*> used_lines(std::span<const TemplateLine* const> lines);

}  // namespace rooftile
