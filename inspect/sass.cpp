// SASS, the code of NVIDIA's own compiler, as nvdisasm and cuobjdump print a function:
//
//   .L_x_1:
//           /*0a10*/    HMMA.16816.F32 R4, R16, R20, R4 ;  /* 0x000000141004723c */
//                                                          /* 0x000fe20000001804 */
//           /*0a20*/    @!P0 BRA `(.L_x_1) ;
//
// cuobjdump, and nvdisasm -b, name the address where a branch leads instead of a label. A CALL that
// keeps no return address, which is how NVIDIA's driver leaves a loop, is a branch; any other CALL
// is an unknown opcode: what it calls is not counted. An nvdisasm that is older than the GPU leaves
// out what it does not know: "(missing)", of unknown kind, stands in for that. The opcodes are
// those of the tables in NVIDIA's "CUDA Binary Utilities", from Turing to Blackwell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "inspect/assembly_words.h"
#include "inspect/parsers.h"
#include "inspect/program_builder.h"

namespace rooftile {
namespace {

using enum InstructionClass;

constexpr double kSubgroup = 32;
constexpr std::uint64_t kInstructionBytes = 16;
constexpr std::uint64_t kMostMissing = 64;  // one after the other

struct Kind {
  InstructionClass kind;
  std::string_view opcodes;  // each between spaces
};
// Those of invocations also stand for the same operation of the subgroup, with a U in front.
constexpr std::array kKinds = {
    Kind{
        kVector,
        " B2R BMSK BREV CS2R DADD DMUL DSETP ELECT F2F F2FP F2I F2IP FADD FADD2 FADD32I FCHK FHADD "
        "FLO FMNMX FMNMX3 FMUL FMUL2 FMUL32I FRND FSEL FSET FSETP FSWZADD HADD2 HADD2_32I HMNMX2 "
        "HMUL2 HMUL2_32I HSET2 HSETP2 I2F I2FP I2I I2IP IABS IADD IADD3 IADD32I IMAD IMNMX IMUL "
        "IMUL32I ISCADD ISCADD32I ISETP LEA LEPC LOP LOP3 LOP32I MATCH MOV MOV32I MOVM MUFU P2R "
        "PLOP3 POPC PRMT PSETP QSPC R2B R2P S2R SEL SGXT SHF SHFL SHL SHR TMML TXQ VABSDIFF "
        "VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3 VOTE "},
    Kind{kScalar, " CREDUX CS2UR R2UR REDUX S2UR UCLEA UFFMA UP2UR UR2UP USETMAXREG VOTEU "},
    Kind{kBranch,
         " BMOV BPT BRA BREAK BSSY BSYNC ENDCOLLECTIVE EXIT JMP KILL RET RPCMOV WARPSYNC "},
    Kind{kWait,
         " ACQBULK ACQSHMINIT CCTL CCTLL CCTLT CGAERRBAR DEPBAR ERRBAR FENCE LDGDEPBAR MEMBAR "
         "NANOSLEEP SYNCS WARPGROUP WARPGROUPSET "},
    Kind{kBarrier, " BAR UCGABAR_ARV UCGABAR_WAIT "},
    Kind{kDelay, " NOP PMTRIG PREEXIT YIELD "},
};

struct Memory {
  std::string_view opcode;
  MemoryAccess access;
};
constexpr auto kShared = MemorySpace::kShared, kGlobal = MemorySpace::kGlobal,
               kScratch = MemorySpace::kScratch, kConstant = MemorySpace::kConstant;
// 32 bits unless the opcode says otherwise; 0: it never tells.
constexpr std::array kMemory = {
    Memory{"LD", {kLoad, kGlobal, 32}},
    Memory{"LDG", {kLoad, kGlobal, 32}},
    Memory{"LDGSTS", {kLoad, kGlobal, 32}},
    Memory{"LDS", {kLoad, kShared, 32}},
    Memory{"LDSM", {kLoad, kShared, 32}},
    Memory{"LDL", {kLoad, kScratch, 32}},
    Memory{"LDC", {kLoad, kConstant, 32}},
    Memory{"LDCU", {kLoad, kConstant, 32, true}},
    Memory{"ULDC", {kLoad, kConstant, 32, true}},
    Memory{"TEX", {kLoad, kGlobal}},
    Memory{"TLD", {kLoad, kGlobal}},
    Memory{"TLD4", {kLoad, kGlobal}},
    Memory{"TXD", {kLoad, kGlobal}},
    Memory{"SULD", {kLoad, kGlobal}},
    Memory{"ST", {kStore, kGlobal, 32}},
    Memory{"STG", {kStore, kGlobal, 32}},
    Memory{"STS", {kStore, kShared, 32}},
    Memory{"STSM", {kStore, kShared, 32}},
    Memory{"STL", {kStore, kScratch, 32}},
    Memory{"SUST", {kStore, kGlobal}},
    Memory{"ATOM", {kAtomic, kGlobal}},
    Memory{"ATOMG", {kAtomic, kGlobal}},
    Memory{"ATOMS", {kAtomic, kShared}},
    Memory{"RED", {kAtomic, kGlobal}},
    Memory{"REDG", {kAtomic, kGlobal}},
    Memory{"SUATOM", {kAtomic, kGlobal}},
    Memory{"SURED", {kAtomic, kGlobal}},
};

struct Product {
  std::string_view opcode;
  double multiply_adds;  // that one invocation computes
};
constexpr std::array kProducts = {
    Product{"FFMA", 1},   Product{"FFMA32I", 1}, Product{"FFMA2", 2},     Product{"FHFMA", 1},
    Product{"DFMA", 1},   Product{"HFMA2", 2},   Product{"HFMA2_32I", 2}, Product{"IDP.2A", 2},
    Product{"IDP.4A", 4}, Product{"IDP4A", 4},
};
constexpr std::string_view kMatrixOpcodes = " HMMA IMMA BMMA DMMA QMMA OMMA ";
constexpr std::string_view kWarpgroupOpcodes = " HGMMA IGMMA BGMMA QGMMA ";

bool listed(std::string_view opcodes, std::string_view name) {
  return contains(opcodes, fmt::format(" {} ", name));
}

/// Multiply-adds of a shape without letters: 16x8x16 in "HMMA.16816.F32", 8x8x4 in "DMMA.884". 0:
/// there is none.
double matrix_product(std::string_view opcode) {
  while (!opcode.empty()) {
    std::string_view part = take_until(opcode, '.');
    const double m = part.starts_with("16") ? 16 : 8;
    part.remove_prefix(std::min<std::size_t>(part.size(), m == 16 ? 2 : 1));
    if (!part.starts_with('8')) continue;
    part.remove_prefix(1);
    if (const auto k = take_number(part); k && part.empty()) return m * 8 * *k;
  }
  return 0;
}

int bits_of(std::string_view opcode, int otherwise) {
  const bool matrices = opcode.starts_with("LDSM") || opcode.starts_with("STSM");
  int bits = otherwise;
  while (!opcode.empty()) {
    std::string_view part = take_until(opcode, '.');
    if (part.starts_with('U') || part.starts_with('S')) part.remove_prefix(1);
    const auto number = take_number(part);
    if (!number || !part.empty()) continue;
    if (!matrices)
      bits = *number;
    else if (*number <= 4)
      bits = 32 * *number;  // so many matrices of 8x8, 16 bits each
  }
  return bits;
}

void classify(Instruction& made, std::string_view operands) {
  const std::string_view opcode = made.opcode;
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  // What the compiler writes for a move where that unit is less busy.
  std::string_view sources = operands;
  take_until(sources, ',');
  sources = trimmed(sources);
  if ((name == "IMAD" && sources.starts_with("RZ, RZ,")) ||
      (name == "HFMA2" && sources.starts_with("-RZ, RZ,"))) {
    made = {.kind = kVector, .opcode = "MOV"};
    return;
  }
  if (listed(kMatrixOpcodes, name)) {
    made.multiply_adds = matrix_product(opcode);
  } else if (listed(kWarpgroupOpcodes, name)) {
    made.multiply_adds = product_of_sides(opcode, "xx") / 4;  // of four subgroups
  }
  if (made.multiply_adds > 0) {
    made.kind = kMatrix;
    return;
  }
  for (const Product& product : kProducts)
    if (name == product.opcode || opcode.starts_with(std::string(product.opcode) + ".")) {
      made.kind = kMultiplyAdd;
      made.multiply_adds = product.multiply_adds * kSubgroup;
    }
  for (const Memory& memory : kMemory)
    if (name == memory.opcode) {
      made.kind = memory.access.kind;
      made.access = memory.access;
      if (made.access.bits > 0) made.access.bits = bits_of(opcode, made.access.bits);
    }
  for (const Kind& kind : kKinds)
    if (listed(kind.opcodes, name)) made.kind = kind.kind;
  if (made.kind == kUnknown && name.starts_with('U') && listed(kKinds[0].opcodes, name.substr(1)))
    made.kind = kScalar;
}

std::optional<std::uint64_t> address(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

/// As targets name it: "0x2a0".
std::string label_of(std::uint64_t address) { return fmt::format("{:#x}", address); }

/// Where a branch leads: its last operand, "`(.L_x_1)" or "0x2a0". "": to what is not shown.
std::string target_of(std::string_view operands) {
  const std::size_t begin = operands.find_last_of(" ,");
  if (begin != std::string_view::npos) operands.remove_prefix(begin + 1);
  if (operands.starts_with("`(") && operands.ends_with(')'))
    return std::string(operands.substr(2, operands.size() - 3));
  if (!operands.starts_with("0x")) return "";
  const auto at = address(operands.substr(2));
  return at ? label_of(*at) : "";
}

/// A line with an instruction: "/*0a20*/ @!P0 BRA `(.L_x_1) ;".
struct Line {
  std::uint64_t address;
  bool predicated;
  std::string_view opcode, operands;
};

/// Nothing for a line of another kind: directives, data and the second half of an encoding.
std::optional<Line> instruction_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*")) return std::nullopt;
  line.remove_prefix(2);
  const std::size_t end = line.find("*/");
  if (end == std::string_view::npos) return std::nullopt;
  const auto at = address(line.substr(0, end));
  line = trimmed(line.substr(end + 2));
  if (!at || line.empty() || line.front() == '.') return std::nullopt;
  line = take_until(line, ';');
  const bool predicated = line.starts_with('@');
  if (predicated) take_word(line);
  const std::string_view opcode = take_word(line);
  return Line{*at, predicated, opcode, trimmed(line)};
}

bool is_sass_opcode(std::string_view word) {
  return !word.empty() && word[0] >= 'A' && word[0] <= 'Z' && std::ranges::all_of(word, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
  });
}

/// Within the function; what a CALL names otherwise is another one.
bool jumps(const Line& line) {
  const std::string_view name = line.opcode.substr(0, line.opcode.find('.'));
  if (name != "CALL") return name == "BRA" || name == "JMP";
  const std::string target = target_of(line.operands);
  return line.opcode.ends_with(".NOINC") && (target.starts_with("0x") || target.starts_with(".L"));
}

}  // namespace

Program parse_sass(std::string_view text, const AssemblyContext&) {
  std::set<std::string, std::less<>> targets;  // addresses that are named instead of labels
  ProgramBuilder before(text);
  while (const auto next = before.next_line())
    if (const auto line = instruction_of(*next); line && jumps(*line))
      targets.insert(target_of(line->operands));

  ProgramBuilder builder(text);
  std::vector<std::string> labels;  // of the next instruction
  bool behind_end = false;          // What follows fills the function up, unless it has a label.
  std::optional<std::uint64_t> last_address;
  // Gives the instruction at the address its labels; false: it fills the function up.
  const auto reach = [&](std::uint64_t address, bool may_fill) {
    if (std::string label = label_of(address); targets.contains(label))
      labels.push_back(std::move(label));
    if (behind_end && labels.empty() && may_fill) return false;
    for (const std::string& label : labels) builder.label(label);
    labels.clear();
    behind_end = false;
    return true;
  };
  using enum ProgramBuilder::Next;
  while (const auto next = builder.next_line()) {
    const std::optional<Line> line = instruction_of(*next);
    if (!line) {
      const std::string_view word = trimmed(*next);
      if (contains(word, ";") && !word.starts_with('.') && !word.starts_with("//"))
        builder.refuse(quoted(*next) + " is no instruction of SASS");
      if (word.ends_with(':') && !contains(word, " ") && !contains(word, "/"))
        labels.emplace_back(word.substr(0, word.size() - 1));
      continue;
    }
    if (next->find(';') == std::string_view::npos || !is_sass_opcode(line->opcode))
      builder.refuse(quoted(*next) + " is no instruction of SASS");
    if (last_address && line->address <= *last_address)
      builder.refuse("a second function begins; name a listing of one");
    if (last_address && line->address - *last_address > kMostMissing * kInstructionBytes)
      builder.refuse(fmt::format("more than {} instructions before it are missing", kMostMissing));
    if (last_address)
      for (std::uint64_t gap = kInstructionBytes; gap < line->address - *last_address;
           gap += kInstructionBytes)
        if (reach(*last_address + gap, true)) builder.add({.opcode = "(missing)"});
    last_address = line->address;
    if (!reach(line->address, line->opcode == "NOP")) continue;
    Instruction made{.opcode = std::string(line->opcode)};
    classify(made, line->operands);
    const std::string_view name = line->opcode.substr(0, line->opcode.find('.'));
    if (jumps(*line)) made.kind = kBranch;
    builder.add(std::move(made));
    if (listed(" BRX BRXU JMX JMXU ", name))
      builder.refuse(quoted(*next) + " leads to an address that the listing does not show");
    const bool ends = listed(" EXIT RET KILL ", name);
    if (!ends && !jumps(*line)) continue;
    std::vector<std::string> to;
    bool always = !line->predicated;
    if (!ends) {
      to.push_back(target_of(line->operands));
      if (to.front().empty())
        builder.refuse(quoted(*next) + " leads to an address that the listing does not show");
      // "BRA.U UP0, `(.L_x_1)"; and what is called may come back.
      always = always && name != "CALL" && !contains(line->operands, ",");
    }
    builder.leave(std::move(to), always ? kLeaves : kContinues);
    behind_end = always;
  }
  return builder.finish();
}

}  // namespace rooftile
