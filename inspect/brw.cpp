// The assembly of ANV's compiler BRW. The number in parentheses is how many invocations an
// instruction computes; a message to memory has a second line that describes it:
//
//   LABEL1:
//   (+f0.0) break(16) JIP:  LABEL0        UIP:  LABEL0              { align1 1H };
//   mad(16)         g42<1>F   g10<8,8,1>F   g58<8,8,1>F   g66<1,1,1>F { align1 1H $4.dst };
//   send(16)        g103UD          g63UD           nullUD          0x62403500     0x02000000
//                               ugm MsgDesc: ( load, a32, d32, V4, ... bti )  BTI 2 ... { align1 1H
//                               };
//   while(16)       JIP:  LABEL1                                    { align1 1H };
#include <algorithm>
#include <array>
#include <bit>

#include "inspect/assembly_words.h"
#include "inspect/parsers.h"
#include "inspect/program_builder.h"

namespace rooftile {
namespace {

using enum InstructionClass;

constexpr std::array<std::string_view, 47> kArithmetic = {
    "add",     "add3",    "addc", "and",  "asr",  "avg",  "bfe",  "bfi1", "bfi2", "bfn",
    "bfrev",   "cbit",    "cmp",  "cmpn", "csel", "dim",  "dp2",  "dp3",  "dp4",  "dph",
    "f16to32", "f32to16", "fbh",  "fbl",  "frc",  "lrp",  "lzd",  "math", "mach", "macl",
    "mov",     "movi",    "mul",  "not",  "or",   "pln",  "rndd", "rnde", "rndu", "rndz",
    "rol",     "ror",     "sel",  "shl",  "shr",  "smov", "subb"};
constexpr std::array<std::string_view, 6> kJumps = {"if",    "else",  "endif",
                                                    "while", "break", "cont"};

/// The text behind `name`, with spaces removed.
std::optional<std::string_view> behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  return trimmed(text);
}

std::optional<int> number_behind(std::string_view text, std::string_view name) {
  auto rest = behind(text, name);
  return rest ? take_number(*rest) : std::nullopt;
}

/// A message of the load-store unit of Xe-HPG and later: "load, a32, d32, V4, transpose, ... bti".
void classify_lsc(Instruction& instruction, std::string_view unit, std::string_view description) {
  std::string_view arguments = description.substr(description.find('(') + 1);
  arguments = trimmed(arguments.substr(0, arguments.rfind(')')));
  const std::string_view operation = take_until(arguments, ',');
  if (operation == "fence") {
    instruction.kind = kWait;
    return;
  }
  MemoryAccess& access = instruction.access;
  const bool scratch = arguments.ends_with(" ss");
  access.space = unit == "slm" ? MemorySpace::kShared
                 : scratch     ? MemorySpace::kScratch
                               : MemorySpace::kGlobal;
  instruction.kind = operation.starts_with("atomic")  ? kAtomic
                     : operation.starts_with("load")  ? kLoad
                     : operation.starts_with("store") ? kStore
                                                      : kUnknown;
  access.kind = instruction.kind;
  take_until(arguments, ',');  // the size of addresses
  std::string_view data = take_until(arguments, ',');
  std::string_view vector = take_until(arguments, ',');
  int elements = 0;
  if (vector.starts_with('V')) {
    vector.remove_prefix(1);
    elements = take_number(vector).value_or(0);
  } else if (contains(operation, "cmask")) {
    elements = static_cast<int>(vector.size());  // "xyz"
  }
  if (data.starts_with('d')) data.remove_prefix(1);
  access.bits = take_number(data).value_or(0) * elements;  // "d16u32": 16 bits in a register of 32
  access.per_subgroup = contains(arguments, "transpose");
  if (instruction.kind == kAtomic) access.bits = 0;
}

/// A message of the data ports before Xe-HPG: "untyped surface read, Surface = 254, SIMD16, Mask =
/// 0xe". Surface 254 is shared memory, 253 stateless memory, where scratch is.
void classify_data_port(Instruction& instruction, std::string_view description) {
  constexpr int kShared = 254, kStateless = 253, kOwordBits = 128, kChannels = 4;
  if (contains(description, "fence")) {
    instruction.kind = kWait;
    return;
  }
  const bool block = contains(description, "OWORD block");
  const auto surface =
      number_behind(description, block || contains(description, "bti ") ? "bti " : "Surface = ");
  MemoryAccess& access = instruction.access;
  instruction.kind = contains(description, "atomic")  ? kAtomic
                     : contains(description, "read")  ? kLoad
                     : contains(description, "write") ? kStore
                                                      : kUnknown;
  if (!surface) instruction.kind = kUnknown;
  access.kind = instruction.kind;
  access.space = surface == kShared               ? MemorySpace::kShared
                 : surface == kStateless && block ? MemorySpace::kScratch
                                                  : MemorySpace::kGlobal;
  if (block) {
    access.per_subgroup = true;
    access.bits = kOwordBits * number_behind(description, "owords = ").value_or(0);
  } else if (const auto mask = behind(description, "Mask = 0x"); mask && !mask->empty()) {
    // A set bit leaves a channel of 32 bits out.
    const unsigned left_out =
        static_cast<unsigned>(std::strtoul(std::string(mask->substr(0, 1)).c_str(), nullptr, 16));
    access.bits = 32 * (kChannels - std::popcount(left_out & 0xfu));
  }
  if (instruction.kind == kAtomic) access.bits = 0;
}

void classify_message(Instruction& instruction, std::string_view line) {
  std::string_view description = line;
  const std::size_t at = line.find("MsgDesc:");
  const std::string_view unit = trimmed(line.substr(0, at));
  description.remove_prefix(at + 8);
  description = trimmed(description.substr(0, description.rfind('{')));
  instruction.opcode = "send " + std::string(unit);
  if (unit == "ugm" || unit == "slm" || unit == "tgm" || unit == "urb") {
    classify_lsc(instruction, unit, description);
  } else if (unit == "data" || unit.starts_with("dp data")) {
    classify_data_port(instruction, description);
  } else if (unit == "sampler") {
    instruction.kind = kLoad;
    instruction.access = {.space = MemorySpace::kGlobal};  // The width depends on the format.
  } else if (unit == "gateway") {
    instruction.kind = contains(description, "barrier") ? kBarrier : kScalar;
  } else if (unit.starts_with("thread_spawner")) {
    instruction.kind = kScalar;
  }
}

/// dpas.8x4(16): 8 steps of k of 1, 2 or 4 elements (a register of 32 bits), 4 rows of the sums, 16
/// columns.
double matrix_multiply_adds(std::string_view modifiers, std::string_view operands, double columns) {
  if (modifiers.starts_with('.')) modifiers.remove_prefix(1);
  const double depth = take_number(modifiers).value_or(0);
  if (modifiers.starts_with('x')) modifiers.remove_prefix(1);
  const double rows = take_number(modifiers).value_or(0);
  // The last operand's type: B or UB has 4 elements in 32 bits, HF and BF have 2.
  operands = trimmed(operands.substr(0, operands.find('{')));
  const std::string_view type = operands.substr(std::min(operands.rfind('>') + 1, operands.size()));
  const double elements = type == "B" || type == "UB"    ? 4
                          : type == "HF" || type == "BF" ? 2
                          : type == "F"                  ? 1
                                                         : 0;
  return depth * elements * rows * columns;
}

/// The type of the first operand: "g42<1>F  g10..." gives "F".
std::string_view destination_type(std::string_view operands) {
  std::string_view destination = take_word(operands);
  return destination.substr(std::min(destination.rfind('>') + 1, destination.size()));
}

void classify(Instruction& instruction, std::string_view name, std::string_view modifiers,
              std::string_view function, int lanes, std::string_view operands,
              const AssemblyContext& context) {
  const bool integer = context.integer_products == IntegerProducts::kAreWork;
  const std::string_view type = destination_type(operands);
  const bool floating = type == "F" || type == "HF" || type == "DF" || type == "BF";
  const auto multiply_add = [&](double of_one) {
    instruction.kind = kMultiplyAdd;
    instruction.multiply_adds = of_one * lanes;
  };
  if (name == "dpas" || name == "dpasw") {
    instruction.multiply_adds = matrix_multiply_adds(modifiers, operands, lanes);
    instruction.kind = instruction.multiply_adds > 0 ? kMatrix : kUnknown;
  } else if ((name == "mad" || name == "mac") && (floating || (integer && lanes > 1))) {
    multiply_add(1);
  } else if (name == "dp4a") {
    multiply_add(4);
  } else if (name == "mul" && integer && !floating && lanes > 1) {
    multiply_add(1);
  } else if (name == "sync") {
    instruction.kind = function == "bar" ? kBarrier : kWait;
  } else if (name == "wait") {
    instruction.kind = kWait;
  } else if (name == "nop") {
    instruction.kind = kDelay;
  } else if (among(kJumps, name)) {
    instruction.kind = kBranch;
  } else if (name == "mad" || name == "mac" || among(kArithmetic, name)) {
    instruction.kind = lanes == 1 ? kScalar : kVector;
  }
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
    if (message_) {
      message(line);
    } else if (trimmed(line).empty() || line.starts_with("Push constant ranges:") ||
               line.starts_with("    RANGE")) {
      return;
    } else if (line.starts_with("LABEL")) {
      if (!line.ends_with(':')) builder_.refuse(quoted(line) + " is no label");
      builder_.label(line.substr(0, line.size() - 1));
    } else {
      instruction(line);
    }
  }

  void finish() const {
    if (message_) builder_.refuse("the text ends inside an instruction");
  }

  /// The second line of a message.
  void message(std::string_view line) {
    const std::size_t flags = line.rfind('{');
    if (!contains(line, "MsgDesc:") || flags == line.npos || !trimmed(line).ends_with("};"))
      builder_.refuse(quoted(line) + " describes no message");
    Instruction made;
    classify_message(made, line);
    builder_.add(std::move(made));
    message_ = false;
    if (contains(line.substr(flags), "EOT"))  // the end of the thread
      builder_.leave({}, ProgramBuilder::Next::kLeaves);
  }

  /// "(+f0.0) cmp.ge.f0.0(16) g35<1>UD ..." or "math inv(16) ...".
  void instruction(std::string_view line) {
    std::string_view rest = line;
    if (rest.starts_with('(')) take_until(rest, ')');
    rest = trimmed(rest);
    const std::size_t open = rest.find('(');
    std::string_view head = rest.substr(0, open);
    if (open == std::string_view::npos) builder_.refuse(quoted(line) + " is no instruction");
    rest.remove_prefix(open + 1);
    const auto lanes = take_number(rest);
    if (!lanes || !rest.starts_with(')')) builder_.refuse(quoted(line) + " is no instruction");
    rest.remove_prefix(1);
    const std::string_view word = take_word(head), function = trimmed(head);
    const std::string_view name = word.substr(0, word.find('.')),
                           modifiers = word.substr(std::min(name.size(), word.size()));
    const bool letters = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
    if (!letters) builder_.refuse(quoted(line) + " is no instruction");
    if (name.starts_with("send")) {
      message_ = true;
      return;
    }
    if (!trimmed(line).ends_with("};"))
      builder_.refuse(quoted(line) + " has no end, as if it were cut");
    Instruction made{.opcode = std::string(name)};
    classify(made, name, modifiers, function, *lanes, rest, context_);
    const bool jumps = contains(rest, "JIP:");
    if (jumps != (made.kind == kBranch))
      builder_.refuse(quoted(line) + " is a jump of an unknown kind");
    builder_.add(std::move(made));
    if (jumps) jump(line, rest);
  }

  /// JIP is where invocations go that are turned off, UIP where all go when none is left.
  void jump(std::string_view line, std::string_view operands) {
    std::vector<std::string> targets;
    for (const std::string_view name : {"JIP:", "UIP:"})
      if (auto label = behind(operands, name)) {
        targets.emplace_back(take_word(*label));
        if (!targets.back().starts_with("LABEL"))
          builder_.refuse(quoted(line) + " has a target that is no label");
      }
    builder_.leave(std::move(targets), ProgramBuilder::Next::kContinues);
  }

  AssemblyContext context_;
  ProgramBuilder builder_;
  bool message_ = false;  // The next line describes a message.
};

}  // namespace

Program parse_brw(std::string_view text, const AssemblyContext& context) {
  return Reader(text, context).program();
}

}  // namespace rooftile
