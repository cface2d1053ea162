#include "inspect/assembly.h"

#include <algorithm>

#include "core/error.h"
#include "inspect/parsers.h"

namespace rooftile {
namespace {

// Values of VkDriverId.
constexpr std::uint32_t kRadv = 3, kAnv = 6, kNvk = 24;

}  // namespace

std::optional<AssemblySyntax> assembly_syntax(const DeviceProfile& device) {
  switch (device.driver_id) {
    case kRadv:
      return AssemblySyntax::kAco;
    case kAnv:
      return AssemblySyntax::kBrw;
    case kNvk:
      return AssemblySyntax::kNak;
    default:
      return std::nullopt;
  }
}

const CompilerText* assembly_of(const CompiledExecutable& executable) {
  // "Assembly" (RADV), "GEN Assembly" (ANV), "NAK assembly" (NVK).
  const auto found = std::ranges::find_if(
      executable.texts, [](const CompilerText& text) { return text.name.ends_with("ssembly"); });
  return found == executable.texts.end() ? nullptr : &*found;
}

Program parse_assembly(AssemblySyntax syntax, std::string_view text,
                       const AssemblyContext& context) {
  switch (syntax) {
    case AssemblySyntax::kAco:
      return parse_aco(text, context);
    case AssemblySyntax::kBrw:
      return parse_brw(text, context);
    case AssemblySyntax::kNak:
      return parse_nak(text, context);
    case AssemblySyntax::kSass:
      return parse_sass(text, context);
  }
  fail(ErrorCode::kInternal, "there is no such syntax of assembly");
}

}  // namespace rooftile
