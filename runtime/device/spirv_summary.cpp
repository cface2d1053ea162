#include "runtime/device/spirv_summary.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "core/error.h"

namespace rooftile {
namespace {

// Numbers of the SPIR-V specification (sections 2.3, 3.3, 3.6, 3.49).
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kOpEntryPoint = 15, kOpExecutionMode = 16, kOpFunction = 54,
                        kOpFunctionEnd = 56;
constexpr std::uint32_t kGlCompute = 5, kLocalSize = 17;
constexpr std::uint32_t kOpcodeMask = 0xffff, kWordCountShift = 16;

using Words = std::span<const std::uint32_t>;

/// Literal strings are NUL-terminated and little-endian within words.
bool is_main(Words name) {
  static_assert(std::endian::native == std::endian::little);
  constexpr char kMain[] = "main";
  return name.size_bytes() >= sizeof(kMain) && std::memcmp(name.data(), kMain, sizeof(kMain)) == 0;
}

}  // namespace

SpirvSummary summarise_spirv(Words words) {
  if (words.size() <= kHeaderWords || words[0] != kMagic) {
    fail(ErrorCode::kCompile, "not a SPIR-V module: {} words, the first is {:#x} instead of {:#x}",
         words.size(), words.empty() ? 0 : words[0], kMagic);
  }
  SpirvSummary summary;
  std::uint32_t main_id = 0;  // of the function; 0 is no id
  bool main_defined = false;
  std::uint32_t opcode = 0;
  for (Words rest = words.subspan(kHeaderWords); !rest.empty();) {
    const std::size_t count = rest[0] >> kWordCountShift;
    if (count == 0 || count > rest.size()) {
      fail(ErrorCode::kCompile,
           "damaged SPIR-V module: the instruction at word {} of {} claims {} words",
           words.size() - rest.size(), words.size(), count);
    }
    opcode = rest[0] & kOpcodeMask;
    // OpEntryPoint: model, function, name ...; OpExecutionMode: function, mode, literals ...;
    // OpFunction: type, id ...
    if (opcode == kOpEntryPoint && count > 3 && rest[1] == kGlCompute &&
        is_main(rest.subspan(3, count - 3))) {
      main_id = rest[2];
    } else if (opcode == kOpExecutionMode && count == 6 && rest[2] == kLocalSize) {
      summary.local_size = {rest[3], rest[4], rest[5]};
    } else if (opcode == kOpFunction && count == 5 && main_id != 0 && rest[2] == main_id) {
      main_defined = true;
    }
    rest = rest.subspan(count);
  }
  if (main_id == 0) {
    fail(ErrorCode::kCompile, "the SPIR-V module has no compute entry point named main");
  }
  // Functions come last, so that a module cut between two instructions shows here.
  if (!main_defined || opcode != kOpFunctionEnd) {
    fail(ErrorCode::kCompile, "the SPIR-V module is cut off");
  }
  return summary;
}

}  // namespace rooftile
