// The assembly of NVK's compiler NAK: blocks with the numbers of their predecessors and successors.
//
//   block 3 L7 [2, 3] -> {
//         r16..20  = ld.shared.strong.cta.b128 [r8+0x3000], pT   // delay=1 wr:3
//   @!p0             bra pT L7                                   // delay=1 wt=000001
//   } -> [4, 3]
#include <algorithm>
#include <array>

#include "inspect/assembly_words.h"
#include "inspect/parsers.h"
#include "inspect/program_builder.h"

namespace rooftile {
namespace {

using enum InstructionClass;

constexpr std::array<std::string_view, 75> kArithmetic = {
    "al2p",   "bfe",     "bmsk",  "brev",   "cs2r",  "dadd",      "dmnmx",     "dmul",  "dsetp",
    "f2f",    "f2fp",    "f2i",   "fadd",   "flo",   "fmnmx",     "fmul",      "frnd",  "fset",
    "fsetp",  "fswzadd", "hadd2", "hmnmx2", "hmul2", "hset2",     "hsetp2",    "i2f",   "i2i",
    "i2fp",   "iabs",    "iadd2", "iadd3",  "iadd",  "imad",      "imad64",    "imnmx", "imul",
    "isetp",  "lea",     "lop2",  "lop3",   "match", "mov",       "movm",      "mufu",  "out",
    "p2r",    "pixld",   "plop3", "popc",   "prmt",  "psetp",     "r2p",       "r2ur",  "redux",
    "s2r",    "s2ur",    "sel",   "sgxt",   "shf",   "shfl",      "shl",       "shr",   "vote",
    "vimnmx", "viadd",   "vimad", "iadd2x", "leax",  "transcend", "viaddmnmx", "fchk",  "fsel",
    "elect",  "dsel",    "imnmx3"};
constexpr std::array<std::string_view, 14> kControl = {
    "bra", "bssy", "bsync", "bclear", "bmov",     "break", "brk",
    "brx", "cont", "exit",  "jmp",    "warpsync", "kill",  "ssy"};
constexpr std::array<std::string_view, 6> kWaits = {"membar", "depbar", "texdepbar",
                                                    "cctl",   "fence",  "ldgdepbar"};

/// Bits of the type that ends the name: "b128", "u16".
int width_bits(std::string_view opcode) {
  std::string_view type = opcode.substr(opcode.rfind('.') + 1);
  if (type.empty()) return 0;
  type.remove_prefix(1);
  const auto bits = take_number(type);
  return bits && type.empty() ? *bits : 0;
}

bool has_part(std::string_view opcode, std::string_view part) {
  while (!opcode.empty())
    if (take_until(opcode, '.') == part) return true;
  return false;
}

/// ld., st. and atom., whose parts name the memory.
void classify_memory(Instruction& instruction, InstructionClass kind) {
  const std::string_view opcode = instruction.opcode;
  instruction.kind = kind;
  instruction.access.kind = kind;
  instruction.access.bits = kind == kAtomic ? 0 : width_bits(opcode);
  if (has_part(opcode, "shared"))
    instruction.access.space = MemorySpace::kShared;
  else if (has_part(opcode, "local"))
    instruction.access.space = MemorySpace::kScratch;
  else if (has_part(opcode, "global"))
    instruction.access.space = MemorySpace::kGlobal;
  else
    instruction.kind = kUnknown;
}

/// Loads through other paths: matrices, constants, textures. Returns whether it is one.
bool classify_other_load(Instruction& instruction, std::string_view name, bool uniform) {
  MemoryAccess& access = instruction.access;
  const std::string_view opcode = instruction.opcode;
  if (name == "ldsm") {
    // Eight rows of 16 bytes for each of x1, x2 or x4: 32 bits an invocation.
    access = {.space = MemorySpace::kShared, .bits = 32};
    for (const int count : {2, 4})
      if (opcode.ends_with(count == 2 ? ".x2" : ".x4")) access.bits = 32 * count;
  } else if (name == "ldc" || name == "ldcu") {
    access = {.space = MemorySpace::kConstant, .bits = width_bits(opcode), .per_subgroup = uniform};
  } else if (name == "tld" || name == "suld") {
    const std::string_view components = opcode.substr(opcode.rfind('.') + 1);
    const bool known = std::ranges::all_of(components, [](char c) {
      return std::string_view("rgba").find(c) != std::string_view::npos;
    });
    access = {.space = MemorySpace::kGlobal,
              .bits = known ? 32 * static_cast<int>(components.size()) : 0};
  } else {
    return false;
  }
  instruction.kind = kLoad;
  return true;
}

void classify(Instruction& instruction, bool uniform, const AssemblyContext& context) {
  const std::string_view opcode = instruction.opcode;
  const std::string_view name = opcode.substr(0, opcode.find_first_of(".["));
  const double subgroup = context.subgroup_size;
  const auto multiply_add = [&](double of_one) {
    instruction.kind = kMultiplyAdd;
    instruction.multiply_adds = of_one * subgroup;
  };
  if (name == "hmma" || name == "imma") {
    instruction.multiply_adds = product_of_sides(opcode, "mnk");
    instruction.kind = instruction.multiply_adds > 0 ? kMatrix : kUnknown;
  } else if (name == "ffma" || name == "dfma") {
    multiply_add(1);
  } else if (name == "hfma2") {
    multiply_add(2);
  } else if (name == "idp4") {
    multiply_add(4);
  } else if (name == "idp2") {
    multiply_add(2);
  } else if (name == "imad" && opcode != "imad.x" && !uniform &&
             context.integer_products == IntegerProducts::kAreWork) {
    multiply_add(1);
  } else if (name == "ld") {
    classify_memory(instruction, kLoad);
  } else if (name == "st") {
    classify_memory(instruction, kStore);
  } else if (name == "atom" || name == "red") {
    classify_memory(instruction, kAtomic);
  } else if (classify_other_load(instruction, name, uniform)) {
    return;
  } else if (name == "sust") {
    instruction.kind = kStore;
    instruction.access = {.kind = kStore, .space = MemorySpace::kGlobal};
  } else if (name == "bar") {
    instruction.kind = kBarrier;
  } else if (name == "nop") {
    instruction.kind = kDelay;
  } else if (among(kWaits, name)) {
    instruction.kind = kWait;
  } else if (among(kControl, name)) {
    instruction.kind = kBranch;
  } else if (among(kArithmetic, name)) {
    instruction.kind = uniform || name == "r2ur" ? kScalar : kVector;
  }
}

bool is_opcode(std::string_view word) {
  if (word.empty() || word[0] < 'a' || word[0] > 'z') return false;
  return std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._[]").find(c) != std::string_view::npos;
  });
}

/// "3, 4]" to {"3", "4"}.
std::vector<std::string> numbers(const ProgramBuilder& builder, std::string_view list) {
  if (!list.ends_with(']')) builder.refuse(quoted(list) + " is no list of blocks");
  list.remove_suffix(1);
  std::vector<std::string> found;
  while (!trimmed(list).empty()) {
    std::string_view digits = take_until(list, ',');
    const auto number = take_number(digits);
    if (!number || !digits.empty()) builder.refuse("the numbers of the blocks cannot be read");
    found.push_back(std::to_string(*number));
  }
  return found;
}

class Reader {
 public:
  Reader(std::string_view text, const AssemblyContext& context)
      : context_(context), builder_(text) {}

  Program program() {
    while (const auto line = builder_.next_line()) read(*line);
    finish();
    return builder_.finish();
  }

 private:
  void read(std::string_view line) {
    if (trimmed(line).empty()) return;
    if (line.starts_with("block"))
      begin_block(line);
    else if (line.starts_with("}"))
      end_block(line);
    else
      instruction(line);
  }

  void finish() const {
    if (inside_) builder_.refuse("the text ends inside a block");
  }

  void begin_block(std::string_view line) {
    if (inside_) builder_.refuse("a block begins inside another");
    take_word(line);  // "block", or "block.u" for uniform control flow
    line = trimmed(line);
    const auto number = take_number(line);
    if (!number || !line.ends_with("-> {")) builder_.refuse("the block's number cannot be read");
    builder_.label(std::to_string(*number));
    inside_ = true;
  }

  void end_block(std::string_view line) {
    if (!inside_) builder_.refuse("a block ends that has not begun");
    const std::size_t list = line.find('[');
    if (list == std::string_view::npos) builder_.refuse(quoted(line) + " names no blocks");
    builder_.leave(numbers(builder_, line.substr(list + 1)), ProgramBuilder::Next::kLeaves);
    inside_ = false;
  }

  void instruction(std::string_view line) {
    if (!inside_) builder_.refuse(quoted(line) + " stands outside of a block");
    const std::size_t comment = line.find("// delay=");
    if (comment == std::string_view::npos)
      builder_.refuse(quoted(line) + " has no delay, as if it were cut");
    std::string_view code = trimmed(line.substr(0, comment));
    if (code.starts_with('@')) take_word(code);
    code = trimmed(code);
    bool uniform = false;
    if (const std::size_t equals = code.find(" = "); equals != std::string_view::npos) {
      uniform = code.starts_with('u');  // ur4, up0: registers of the subgroup
      code.remove_prefix(equals + 3);
    }
    Instruction made{.opcode = std::string(take_word(code))};
    if (!is_opcode(made.opcode)) builder_.refuse(quoted(line) + " is no instruction");
    classify(made, uniform, context_);
    builder_.add(std::move(made));
  }

  AssemblyContext context_;
  ProgramBuilder builder_;
  bool inside_ = false;  // a block
};

}  // namespace

Program parse_nak(std::string_view text, const AssemblyContext& context) {
  return Reader(text, context).program();
}

}  // namespace rooftile
