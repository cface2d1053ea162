#include "generator/matrix_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/spirv_words.h"

namespace rooftile {
namespace {

// Numbers of the SPIR-V specification (section 3.49) and of SPV_KHR_cooperative_matrix.
constexpr std::size_t kBoundWord = 3;
constexpr std::uint32_t kOpTypeVoid = 19, kOpTypeInt = 21, kOpTypeFloat = 22, kOpTypeFunction = 33,
                        kOpTypeCooperativeMatrix = 4456;
constexpr std::uint32_t kBfloat16Encoding = 0;  // FPEncoding BFloat16KHR
constexpr std::uint32_t kOpDecorate = 71, kOpFAdd = 129, kOpFMul = 133, kNoContraction = 42;

/// A scalar type: the words of its declaration after the id.
struct ScalarType {
  std::uint32_t tag;
  std::uint32_t opcode;
  std::array<std::uint32_t, 2> operands;
  std::size_t operand_count;
};

// A tag is 0x7f, a kind (float, signed, unsigned, bfloat16) and a width. It is larger than any id.
constexpr std::uint32_t kF16 = 0x7f000010, kF32 = 0x7f000020, kI8 = 0x7f000108, kI32 = 0x7f000120,
                        kU8 = 0x7f000208, kU32 = 0x7f000220, kBf16 = 0x7f000310;
constexpr std::array<ScalarType, 7> kScalars = {{
    {kF16, kOpTypeFloat, {16, 0}, 1},
    {kF32, kOpTypeFloat, {32, 0}, 1},
    {kI8, kOpTypeInt, {8, 1}, 2},
    {kI32, kOpTypeInt, {32, 1}, 2},
    {kU8, kOpTypeInt, {8, 0}, 2},
    {kU32, kOpTypeInt, {32, 0}, 2},
    {kBf16, kOpTypeFloat, {16, kBfloat16Encoding}, 2},
}};

const ScalarType* scalar_with_tag(std::uint32_t tag) {
  const auto found = std::ranges::find(kScalars, tag, &ScalarType::tag);
  return found == kScalars.end() ? nullptr : &*found;
}

bool declares(SpirvWords instruction, const ScalarType& scalar) {
  return spirv_opcode(instruction) == scalar.opcode &&
         instruction.size() == 2 + scalar.operand_count &&
         std::equal(instruction.begin() + 2, instruction.end(), scalar.operands.begin());
}

/// Ids of the scalar types that matrices of this module use; 0: no matrix uses it.
struct Wanted {
  std::array<bool, kScalars.size()> used = {};
  std::array<std::uint32_t, kScalars.size()> ids = {};
  bool any = false;
};

Wanted wanted_scalars(SpirvWords module, std::uint32_t& bound) {
  Wanted wanted;
  for_each_spirv_instruction(module, [&](SpirvWords instruction) {
    for (std::size_t i = 0; i < kScalars.size(); ++i) {
      if (spirv_opcode(instruction) == kOpTypeCooperativeMatrix &&
          instruction[2] == kScalars[i].tag)
        wanted.used[i] = wanted.any = true;
      if (declares(instruction, kScalars[i])) wanted.ids[i] = instruction[1];
    }
  });
  for (std::size_t i = 0; i < kScalars.size(); ++i)
    if (wanted.used[i] && wanted.ids[i] == 0) wanted.ids[i] = bound++;
  return wanted;
}

/// Ids of the sums of two matrices that drivers could leave to a matrix operation, which truncates:
/// not those of products of elements, which become multiply-adds of elements, rounded once.
std::vector<std::uint32_t> matrix_sums(SpirvWords module) {
  std::vector<std::uint32_t> types, products, sums;
  const auto among = [](const std::vector<std::uint32_t>& ids, std::uint32_t id) {
    return std::ranges::find(ids, id) != ids.end();
  };
  for_each_spirv_instruction(module, [&](SpirvWords instruction) {
    const std::uint32_t opcode = spirv_opcode(instruction);
    if (opcode == kOpTypeCooperativeMatrix) types.push_back(instruction[1]);
    if (opcode == kOpFMul && among(types, instruction[1])) products.push_back(instruction[2]);
    if (opcode == kOpFAdd && among(types, instruction[1]) && !among(products, instruction[3]) &&
        !among(products, instruction[4]))
      sums.push_back(instruction[2]);
  });
  return sums;
}

std::uint32_t tag_of(DataType type) {
  switch (type) {
    case DataType::kF16:
      return kF16;
    case DataType::kF32:
      return kF32;
    case DataType::kI8:
      return kI8;
    case DataType::kI32:
      return kI32;
    case DataType::kU8:
      return kU8;
    case DataType::kBf16:
      return kBf16;
    case DataType::kF64:
      break;
  }
  fail(ErrorCode::kInternal, "no matrix unit multiplies {}", name(type));
}

/// The GLSL literal that stands for a component type.
std::string literal(std::uint32_t tag) { return fmt::format("0x{:08X}u", tag); }

}  // namespace

std::string matrix_tag(DataType type) { return literal(tag_of(type)); }
std::string unsigned_sum_tag() { return literal(kU32); }

std::vector<std::uint32_t> resolve_matrix_types(const std::vector<std::uint32_t>& module) {
  std::uint32_t bound = module.size() > kBoundWord ? module[kBoundWord] : 0;
  const Wanted wanted = wanted_scalars(module, bound);
  if (!wanted.any) return module;

  std::vector<std::uint32_t> resolved(module.begin(), module.begin() + kSpirvHeaderWords);
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
  const auto is_hoisted = [&](SpirvWords instruction) {
    for (std::size_t i = 0; i < kScalars.size(); ++i)
      if (wanted.used[i] && declares(instruction, kScalars[i])) return true;
    return false;
  };
  bool declared = false;
  for_each_spirv_instruction(module, [&](SpirvWords instruction) {
    const std::uint32_t opcode = spirv_opcode(instruction);
    if (!declared && opcode >= kOpTypeVoid && opcode <= kOpTypeFunction) {
      for (const std::uint32_t sum : matrix_sums(module))
        resolved.insert(resolved.end(), {3u << 16 | kOpDecorate, sum, kNoContraction});
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
