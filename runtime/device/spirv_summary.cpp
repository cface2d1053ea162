#include "runtime/device/spirv_summary.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "core/spirv_words.h"

namespace rooftile {
namespace {

// Numbers of the SPIR-V specification (sections 3.3, 3.6, 3.49).
constexpr std::uint32_t kOpEntryPoint = 15, kOpExecutionMode = 16, kOpFunction = 54,
                        kOpFunctionEnd = 56;
constexpr std::uint32_t kGlCompute = 5, kLocalSize = 17;

/// Literal strings are NUL-terminated and little-endian within words.
bool is_main(SpirvWords name) {
  static_assert(std::endian::native == std::endian::little);
  constexpr char kMain[] = "main";
  return name.size_bytes() >= sizeof(kMain) && std::memcmp(name.data(), kMain, sizeof(kMain)) == 0;
}

}  // namespace

SpirvSummary summarise_spirv(SpirvWords words) {
  SpirvSummary summary;
  std::uint32_t main_id = 0;  // Id of the function; 0 is no legal id.
  bool main_defined = false;
  std::uint32_t opcode = 0;
  for_each_spirv_instruction(words, [&](SpirvWords instruction) {
    const std::size_t count = instruction.size();
    opcode = spirv_opcode(instruction);
    // - OpEntryPoint: model, function, name ...
    // - OpExecutionMode: function, mode, literals ...
    // - OpFunction: type, id ...
    if (opcode == kOpEntryPoint && count > 3 && instruction[1] == kGlCompute &&
        is_main(instruction.subspan(3))) {
      main_id = instruction[2];
    } else if (opcode == kOpExecutionMode && count == 6 && instruction[2] == kLocalSize) {
      summary.local_size = {instruction[3], instruction[4], instruction[5]};
    } else if (opcode == kOpFunction && count == 5 && main_id != 0 && instruction[2] == main_id) {
      main_defined = true;
    }
  });
  if (main_id == 0) {
    fail(ErrorCode::kCompile, "the SPIR-V module has no compute entry point named main");
  }
  // Functions come last, so a module that was cut between two instructions is detected here.
  if (!main_defined || opcode != kOpFunctionEnd) {
    fail(ErrorCode::kCompile, "the SPIR-V module is cut off");
  }
  return summary;
}

}  // namespace rooftile
