// The assembly that Mesa's compilers for AMD (ACO), Intel (BRW) and NVIDIA (NAK) print, and what
// NVIDIA's tools print of its own compiler's code (SASS). All functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/compiled_executable.h"
#include "core/device_profile.h"
#include "inspect/assembly_context.h"
#include "inspect/instruction.h"

namespace rooftile {

enum class AssemblySyntax : std::uint8_t { kAco, kBrw, kNak, kSass };

/// The syntax of a driver's assembly; nothing where it is not known. No driver gives SASS.
std::optional<AssemblySyntax> assembly_syntax(const DeviceProfile& device);

/// The text of an executable that is its assembly; null where the driver gives none.
const CompilerText* assembly_of(const CompiledExecutable& executable);

/// Throws kUnsupported, with the number of the line, for text that is not such an assembly or that
/// ends before the program does. Unknown opcodes are no error: they become kUnknown.
Program parse_assembly(AssemblySyntax syntax, std::string_view text,
                       const AssemblyContext& context);

}  // namespace rooftile
