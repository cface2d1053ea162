#include "generator/matrix_types.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"

namespace rooftile {
namespace {

// Numbers of the SPIR-V specification (sections 2.3, 3.49) and of SPV_KHR_cooperative_matrix.
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5, kBoundWord = 3;
constexpr std::uint32_t kOpTypeVoid = 19, kOpTypeInt = 21, kOpTypeFloat = 22, kOpTypeFunction = 33,
                        kOpTypeCooperativeMatrix = 4456;
constexpr std::uint32_t kBfloat16Encoding = 0;  // FPEncoding BFloat16KHR

/// A scalar type as its declaration has it behind the id.
struct ScalarType {
  std::uint32_t tag;
  std::string_view literal;
  std::uint32_t opcode;
  std::array<std::uint32_t, 2> operands;
  std::size_t operand_count;
};

// Tags begin with 0x7f, behind which come a kind (float, signed, unsigned, bfloat16) and a width:
// no id is as large.
constexpr std::array<ScalarType, 7> kScalars = {{
    {0x7F000010, "0x7F000010u", kOpTypeFloat, {16, 0}, 1},
    {0x7F000020, "0x7F000020u", kOpTypeFloat, {32, 0}, 1},
    {0x7F000108, "0x7F000108u", kOpTypeInt, {8, 1}, 2},
    {0x7F000120, "0x7F000120u", kOpTypeInt, {32, 1}, 2},
    {0x7F000208, "0x7F000208u", kOpTypeInt, {8, 0}, 2},
    {0x7F000220, "0x7F000220u", kOpTypeInt, {32, 0}, 2},
    {0x7F000310, "0x7F000310u", kOpTypeFloat, {16, kBfloat16Encoding}, 2},
}};

using Words = std::span<const std::uint32_t>;

std::uint32_t opcode_of(Words instruction) { return instruction[0] & 0xffff; }

const ScalarType* scalar_with_tag(std::uint32_t tag) {
  const auto found = std::ranges::find(kScalars, tag, &ScalarType::tag);
  return found == kScalars.end() ? nullptr : &*found;
}

bool declares(Words instruction, const ScalarType& scalar) {
  return opcode_of(instruction) == scalar.opcode &&
         instruction.size() == 2 + scalar.operand_count &&
         std::equal(instruction.begin() + 2, instruction.end(), scalar.operands.begin());
}

/// Calls visit(instruction) for each one behind the header.
template <typename Visit>
void for_each_instruction(Words module, Visit&& visit) {
  if (module.size() <= kHeaderWords || module[0] != kMagic)
    fail(ErrorCode::kCompile, "not a SPIR-V module: {} words", module.size());
  for (Words rest = module.subspan(kHeaderWords); !rest.empty();) {
    const std::size_t count = rest[0] >> 16;
    if (count == 0 || count > rest.size())
      fail(ErrorCode::kCompile, "damaged SPIR-V module: an instruction claims {} of {} words",
           count, rest.size());
    visit(rest.first(count));
    rest = rest.subspan(count);
  }
}

/// Ids of the scalars that matrices of this module are made of; 0: not used by any.
struct Wanted {
  std::array<bool, kScalars.size()> used = {};
  std::array<std::uint32_t, kScalars.size()> ids = {};
  bool any = false;
};

Wanted wanted_scalars(Words module, std::uint32_t& bound) {
  Wanted wanted;
  for_each_instruction(module, [&](Words instruction) {
    for (std::size_t i = 0; i < kScalars.size(); ++i) {
      if (opcode_of(instruction) == kOpTypeCooperativeMatrix && instruction[2] == kScalars[i].tag)
        wanted.used[i] = wanted.any = true;
      if (declares(instruction, kScalars[i])) wanted.ids[i] = instruction[1];
    }
  });
  for (std::size_t i = 0; i < kScalars.size(); ++i)
    if (wanted.used[i] && wanted.ids[i] == 0) wanted.ids[i] = bound++;
  return wanted;
}

}  // namespace

namespace {

/// The GLSL literal that stands for a component type.
std::string_view tag_of(DataType type) {
  switch (type) {
    case DataType::kF16:
      return kScalars[0].literal;
    case DataType::kF32:
      return kScalars[1].literal;
    case DataType::kI8:
      return kScalars[2].literal;
    case DataType::kI32:
      return kScalars[3].literal;
    case DataType::kU8:
      return kScalars[4].literal;
    case DataType::kBf16:
      return kScalars[6].literal;
  }
  fail(ErrorCode::kInternal, "no matrix unit multiplies {}", name(type));
}

}  // namespace

void describe_matrix(Defines& defines, Includes& includes, const MatrixShape& shape) {
  const auto add = [&](std::string_view define, std::int64_t value) {
    defines.emplace_back(define, std::to_string(value));
  };
  add("MATRIX_M", shape.m);
  add("MATRIX_N", shape.n);
  add("MATRIX_K", shape.k);
  add("OPERAND_BITS", 8 * bytes_of(shape.operand));
  defines.emplace_back("OPERAND_TAG", tag_of(shape.operand));
  // Drivers offer unsigned sums for unsigned operands.
  const bool is_unsigned = shape.operand == DataType::kU8;
  defines.emplace_back("SUM_TAG", is_unsigned ? kScalars[5].literal : tag_of(shape.sum));
  // Of MatrixOperands: A, B, C and the result are signed.
  add("SIGNED_OPERANDS", shape.operand == DataType::kI8 ? 15 : 0);
  includes["matrix_capabilities_f16.glsl"] =
      "matrix_capabilities_" + std::string(is_8_bit(shape.operand) ? "i8" : name(shape.operand)) +
      ".glsl";
  includes["elements_f32.glsl"] =
      "elements_" + std::string(is_unsigned ? "u32" : name(shape.sum)) + ".glsl";
}

std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module) {
  std::uint32_t bound = module.size() > kBoundWord ? module[kBoundWord] : 0;
  const Wanted wanted = wanted_scalars(module, bound);
  if (!wanted.any) return module;

  std::vector<std::uint32_t> resolved(module.begin(), module.begin() + kHeaderWords);
  resolved[kBoundWord] = bound;
  const auto declare_scalars = [&] {
    for (std::size_t i = 0; i < kScalars.size(); ++i) {
      if (!wanted.used[i]) continue;
      const ScalarType& scalar = kScalars[i];
      const auto count = static_cast<std::uint32_t>(2 + scalar.operand_count);
      resolved.push_back(count << 16 | scalar.opcode);
      resolved.push_back(wanted.ids[i]);
      resolved.insert(resolved.end(), scalar.operands.begin(),
                      scalar.operands.begin() + static_cast<std::ptrdiff_t>(scalar.operand_count));
    }
  };
  const auto is_hoisted = [&](Words instruction) {
    for (std::size_t i = 0; i < kScalars.size(); ++i)
      if (wanted.used[i] && declares(instruction, kScalars[i])) return true;
    return false;
  };
  bool declared = false;
  for_each_instruction(module, [&](Words instruction) {
    const std::uint32_t opcode = opcode_of(instruction);
    if (!declared && opcode >= kOpTypeVoid && opcode <= kOpTypeFunction) {
      declare_scalars();
      declared = true;
    }
    if (is_hoisted(instruction)) return;
    const std::size_t at = resolved.size();
    resolved.insert(resolved.end(), instruction.begin(), instruction.end());
    if (opcode == kOpTypeCooperativeMatrix)
      if (const ScalarType* scalar = scalar_with_tag(instruction[2]))
        resolved[at + 2] = wanted.ids[static_cast<std::size_t>(scalar - kScalars.data())];
  });
  return resolved;
}

}  // namespace rooftile
