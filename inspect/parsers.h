// One parser for each compiler, as parse_assembly() calls them. Private to inspect/.
#pragma once

#include <string_view>

#include "inspect/assembly_context.h"
#include "inspect/instruction.h"

namespace rooftile {

Program parse_aco(std::string_view text, const AssemblyContext& context);
Program parse_brw(std::string_view text, const AssemblyContext& context);
Program parse_nak(std::string_view text, const AssemblyContext& context);
Program parse_sass(std::string_view text, const AssemblyContext& context);

}  // namespace rooftile
