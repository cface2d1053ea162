// The assembly of RADV's compiler ACO, which LLVM's disassembler prints for the generations from
// GFX9 (Vega) on:
//
//   BB1:
//   <tab>v_fmac_f32_e32 v1, v2, v3                          ; 56020702
//   <tab>v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, 0 ; ...
//   <tab>s_cbranch_scc1 BB5                                 ; bfa201f3
//   <tab>(then repeated 4 times)
#include <array>

#include "inspect/assembly_words.h"
#include "inspect/parsers.h"
#include "inspect/program_builder.h"

namespace rooftile {
namespace {

using enum InstructionClass;

struct Opcode {
  std::string_view name;
  double multiply_adds;  // that one invocation computes
};
// Names without the suffix of the encoding, and without v_ or v_dual_.
constexpr std::array kFloatMultiplyAdds = {
    Opcode{"fma_f32", 1},         Opcode{"fmac_f32", 1},         Opcode{"fmaak_f32", 1},
    Opcode{"fmamk_f32", 1},       Opcode{"mad_f32", 1},          Opcode{"mac_f32", 1},
    Opcode{"madak_f32", 1},       Opcode{"madmk_f32", 1},        Opcode{"fma_legacy_f32", 1},
    Opcode{"mad_legacy_f32", 1},  Opcode{"mac_legacy_f32", 1},   Opcode{"fmac_legacy_f32", 1},
    Opcode{"fma_f64", 1},         Opcode{"fmac_f64", 1},         Opcode{"fma_mix_f32", 1},
    Opcode{"mad_mix_f32", 1},     Opcode{"fma_mixlo_f16", 1},    Opcode{"fma_mixhi_f16", 1},
    Opcode{"mad_mixlo_f16", 1},   Opcode{"mad_mixhi_f16", 1},    Opcode{"fma_f16", 1},
    Opcode{"fmac_f16", 1},        Opcode{"fmaak_f16", 1},        Opcode{"fmamk_f16", 1},
    Opcode{"mad_f16", 1},         Opcode{"mac_f16", 1},          Opcode{"madak_f16", 1},
    Opcode{"madmk_f16", 1},       Opcode{"fma_legacy_f16", 1},   Opcode{"mad_legacy_f16", 1},
    Opcode{"pk_fma_f16", 2},      Opcode{"pk_fmac_f16", 2},      Opcode{"pk_fma_f32", 2},
    Opcode{"dot2_f32_f16", 2},    Opcode{"dot2_f32_bf16", 2},    Opcode{"dot2_f16_f16", 2},
    Opcode{"dot2_bf16_bf16", 2},  Opcode{"dot2c_f32_f16", 2},    Opcode{"dot2c_f32_bf16", 2},
    Opcode{"dot2acc_f32_f16", 2}, Opcode{"dot2acc_f32_bf16", 2},
};
constexpr std::array kIntegerDots = {
    Opcode{"dot2_i32_i16", 2}, Opcode{"dot2_u32_u16", 2}, Opcode{"dot2c_i32_i16", 2},
    Opcode{"dot4_i32_i8", 4},  Opcode{"dot4_u32_u8", 4},  Opcode{"dot4_i32_iu8", 4},
    Opcode{"dot4c_i32_i8", 4}, Opcode{"dot8_i32_i4", 8},  Opcode{"dot8_u32_u4", 8},
    Opcode{"dot8_i32_iu4", 8}, Opcode{"dot8c_i32_i4", 8},
};
// Addresses need these as well.
constexpr std::array kIntegerProducts = {
    Opcode{"mul_lo_u32", 1},     Opcode{"mul_lo_u16", 1},     Opcode{"mul_i32_i24", 1},
    Opcode{"mul_u32_u24", 1},    Opcode{"mad_i32_i24", 1},    Opcode{"mad_u32_u24", 1},
    Opcode{"mad_u64_u32", 1},    Opcode{"mad_co_u64_u32", 1}, Opcode{"mad_i64_i32", 1},
    Opcode{"mad_co_i64_i32", 1}, Opcode{"mad_i32_i16", 1},    Opcode{"mad_u32_u16", 1},
    Opcode{"mad_i16", 1},        Opcode{"mad_u16", 1},        Opcode{"mad_legacy_i16", 1},
    Opcode{"mad_legacy_u16", 1}, Opcode{"pk_mul_lo_u16", 2},  Opcode{"pk_mad_i16", 2},
    Opcode{"pk_mad_u16", 2},
};

template <std::size_t kSize>
std::optional<double> find(const std::array<Opcode, kSize>& table, std::string_view name) {
  for (const Opcode& opcode : table)
    if (opcode.name == name) return opcode.multiply_adds;
  return std::nullopt;
}

std::string_view without_encoding(std::string_view opcode) {
  for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa", "_dpp8"})
    if (opcode.ends_with(suffix)) {
      opcode.remove_suffix(suffix.size());
      return without_encoding(opcode);
    }
  return opcode;
}

/// v_...: operations of invocations, and of the matrix units.
void classify_vector(Instruction& instruction, std::string_view name,
                     const AssemblyContext& context) {
  const double subgroup = context.subgroup_size;
  name.remove_prefix(name.starts_with("v_dual_") ? 7 : 2);
  if (contains(name, "wmma") || contains(name, "mfma") || contains(name, "swmmac") ||
      contains(name, "smfmac")) {
    instruction.kind = kMatrix;
    instruction.multiply_adds = product_of_sides(name, "xx");
    // "v_mfma_f32_16x16x4_4b_f32": four blocks.
    if (const std::size_t at = name.find("b_"); at != std::string_view::npos && at > 0)
      if (const char blocks = name[at - 1]; blocks >= '2' && blocks <= '9')
        instruction.multiply_adds *= blocks - '0';
    if (instruction.multiply_adds == 0) instruction.kind = kUnknown;
    return;
  }
  const bool integer = context.integer_products == IntegerProducts::kAreWork;
  std::optional<double> multiply_adds = find(kFloatMultiplyAdds, name);
  if (!multiply_adds) multiply_adds = find(kIntegerDots, name);
  if (!multiply_adds && integer) multiply_adds = find(kIntegerProducts, name);
  instruction.kind = multiply_adds ? kMultiplyAdd : kVector;
  instruction.multiply_adds = multiply_adds.value_or(0) * subgroup;
  // A multiply-add that is in no table must not pass for another operation.
  for (const std::string_view part : {"fma", "fmac", "mad_", "mac_", "dot"})
    if (!multiply_adds && contains(name, part) && !find(kIntegerProducts, name))
      instruction.kind = kUnknown;
}

/// Bits of the last part of a name: "b128", "u8", "dwordx4", "format_d16_xyz", "2addr_b64".
int width_bits(std::string_view name) {
  int bits = 0;
  struct Width {
    std::string_view suffix;
    int bits;
  };
  constexpr std::array kWidths = {
      Width{"dwordx16", 512}, Width{"dwordx8", 256}, Width{"dwordx4", 128}, Width{"dwordx3", 96},
      Width{"dwordx2", 64},   Width{"dword", 32},    Width{"b512", 512},    Width{"b256", 256},
      Width{"b128", 128},     Width{"b96", 96},      Width{"b64", 64},      Width{"b32", 32},
      Width{"b16", 16},       Width{"b8", 8},        Width{"u16", 16},      Width{"i16", 16},
      Width{"u8", 8},         Width{"i8", 8},        Width{"ushort", 16},   Width{"sshort", 16},
      Width{"short", 16},     Width{"ubyte", 8},     Width{"sbyte", 8},     Width{"byte", 8},
      Width{"f32", 32},       Width{"f64", 64},      Width{"u32", 32},      Width{"i32", 32},
      Width{"u64", 64},       Width{"f16", 16},      Width{"bf16", 16},
  };
  for (const std::string_view high : {"_d16_hi", "_d16"})
    if (name.ends_with(high)) name.remove_suffix(high.size());
  for (const Width& width : kWidths)
    if (bits == 0 && name.ends_with(width.suffix)) bits = width.bits;
  if (const std::size_t at = name.find("format_"); at != std::string_view::npos) {
    const std::string_view components = name.substr(name.rfind('_') + 1);
    bits = static_cast<int>(components.size()) * (contains(name, "d16") ? 16 : 32);
  }
  const bool two = contains(name, "2addr") || contains(name, "read2") || contains(name, "write2");
  return two ? 2 * bits : bits;
}

void classify_memory(Instruction& instruction, std::string_view name, MemorySpace space,
                     bool per_subgroup) {
  const bool atomic = contains(name, "atomic") || contains(name, "_add_") ||
                      contains(name, "_cmpst") || contains(name, "_cmpstore");
  const bool store = contains(name, "store") || contains(name, "write");
  const bool load = contains(name, "load") || contains(name, "read");
  instruction.kind = atomic ? kAtomic : store ? kStore : load ? kLoad : kUnknown;
  instruction.access = {.kind = instruction.kind,
                        .space = space,
                        .bits = width_bits(name),
                        .per_subgroup = per_subgroup};
}

/// s_...: operations of the subgroup, and control.
void classify_scalar(Instruction& instruction, std::string_view name) {
  if (name.starts_with("s_wait") || name == "s_sleep")
    instruction.kind = kWait;
  else if (name.starts_with("s_barrier"))
    instruction.kind = kBarrier;
  else if (name == "s_nop" || name == "s_delay_alu" || name == "s_code_end")
    instruction.kind = kDelay;
  else if (name.starts_with("s_load_") || name.starts_with("s_buffer_load_"))
    classify_memory(instruction, name, MemorySpace::kConstant, true);
  else if (name.starts_with("s_cbranch") || name == "s_branch" || name == "s_endpgm")
    instruction.kind = kBranch;
  else if (name.starts_with("s_setpc") || name.starts_with("s_swappc") ||
           name.starts_with("s_call") || name.starts_with("s_rfe") ||
           name.starts_with("s_subvector_loop"))
    instruction.kind = kUnknown;
  else
    instruction.kind = kScalar;
}

Instruction classified(std::string_view opcode, const AssemblyContext& context) {
  Instruction instruction{.opcode = std::string(opcode)};
  const std::string_view name = without_encoding(opcode);
  if (name.starts_with("v_"))
    classify_vector(instruction, name, context);
  else if (name.starts_with("s_"))
    classify_scalar(instruction, name);
  else if (name.starts_with("ds_") && (contains(name, "permute") || contains(name, "swizzle")))
    instruction.kind = kVector;  // exchange registers of the subgroup
  else if (name.starts_with("ds_"))
    classify_memory(instruction, name, MemorySpace::kShared, false);
  else if (name.starts_with("scratch_"))
    classify_memory(instruction, name, MemorySpace::kScratch, false);
  else if (name.starts_with("buffer_gl") || name.starts_with("buffer_wb") ||
           name.starts_with("buffer_inv") || name.starts_with("global_wb") ||
           name.starts_with("global_inv"))
    instruction.kind = kWait;  // invalidate or write back caches
  else if (name.starts_with("buffer_") || name.starts_with("global_") ||
           name.starts_with("flat_") || name.starts_with("tbuffer_") || name.starts_with("image_"))
    classify_memory(instruction, name, MemorySpace::kGlobal, false);
  return instruction;
}

bool is_opcode(std::string_view word) {
  if (word.empty() || word[0] < 'a' || word[0] > 'z' || !contains(word, "_")) return false;
  for (const char c : word)
    if (c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9')) return false;
  return true;
}

/// A line that begins with a tab.
void read_instruction(ProgramBuilder& builder, std::string_view line,
                      const AssemblyContext& context) {
  std::string_view code = line;
  code = take_until(code, ';');
  if (code == "(invalid instruction)") {
    // LLVM does not know the encoding.
    builder.add({.kind = kUnknown, .opcode = std::string(code)});
    return;
  }
  std::string_view rest = code;
  if (rest.starts_with("(then repeated ")) {
    rest.remove_prefix(15);
    const auto times = take_number(rest);
    if (!times || rest != " times)") builder.refuse(quoted(line) + " is no repetition");
    builder.repeat(*times);
    return;
  }
  const std::string_view opcode = take_word(rest);
  if (!is_opcode(opcode)) builder.refuse(quoted(line) + " is no instruction");
  if (line.find(';') == std::string_view::npos)
    builder.refuse(quoted(line) + " has no encoding, as if it were cut");
  Instruction instruction = classified(opcode, context);
  if (opcode == "s_endpgm") {
    builder.add(std::move(instruction));
    builder.leave({}, ProgramBuilder::Next::kLeaves);
  } else if (opcode.starts_with("s_cbranch") || opcode == "s_branch") {
    const std::string_view target = trimmed(rest);
    if (!target.starts_with("BB")) builder.refuse(quoted(line) + " has a target that is no label");
    builder.add(std::move(instruction));
    builder.leave({std::string(target)}, opcode == "s_branch" ? ProgramBuilder::Next::kLeaves
                                                              : ProgramBuilder::Next::kContinues);
  } else if (instruction.kind == kUnknown && opcode.starts_with("s_")) {
    builder.refuse(quoted(line) + " leads to an address that the assembly does not show");
  } else {
    builder.add(std::move(instruction));
    if (const std::size_t second = rest.find("::"); second != std::string_view::npos) {
      rest.remove_prefix(second + 2);
      Instruction other = classified(take_word(rest), context);
      other.shares_issue = true;
      builder.add(std::move(other));
    }
  }
}

}  // namespace

Program parse_aco(std::string_view text, const AssemblyContext& context) {
  ProgramBuilder builder(text);
  while (const auto next = builder.next_line()) {
    const std::string_view line = *next;
    if (trimmed(line).empty()) continue;
    if (trimmed(line).starts_with("/*")) break;  // Constant data stand behind the program.
    if (line.starts_with("BB") && line.ends_with(':'))
      builder.label(line.substr(0, line.size() - 1));
    else if (line.front() == '\t' || line.starts_with("(invalid instruction)"))
      read_instruction(builder, line, context);
    else
      builder.refuse(quoted(line) + " is neither a label nor an instruction");
  }
  return builder.finish();
}

}  // namespace rooftile
