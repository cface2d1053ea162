#include "embed/embedded_shader.h"

#include <algorithm>

#include "core/error.h"
#include "core/spirv_words.h"
#include "embed/header/features.h"
#include "generator/compile.h"

namespace rooftile {
namespace {

// Numbers of the SPIR-V specification (sections 3.31, 3.49).
constexpr std::uint32_t kOpCapability = 17, kOpExecutionMode = 16, kLocalSize = 17;

/// Whether an instruction is for people only: names, sources, lines, tools.
bool is_for_people(std::uint32_t opcode) {
  constexpr std::array kOpcodes = {2u, 3u, 4u, 5u, 6u, 7u, 8u, 317u, 330u};
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

std::uint32_t features_of(std::uint32_t capability) {
  switch (capability) {
    case 1:   // Shader
    case 46:  // SampledBuffer
    case 61:  // GroupNonUniform
      return 0;
    case 9:
      return ROOFTILE_EMBED_FLOAT16;
    case 39:
      return ROOFTILE_EMBED_INT8;
    case 64:  // GroupNonUniformBallot
      return ROOFTILE_EMBED_BALLOT;
    case 5116:  // BFloat16TypeKHR
    case 5118:  // BFloat16CooperativeMatrixKHR
      return ROOFTILE_EMBED_BFLOAT16_MATRIX;
    case 5345:  // VulkanMemoryModel
    case 6022:  // CooperativeMatrixKHR
      return ROOFTILE_EMBED_MATRIX;
    case 5433:  // CooperativeMatrixTensorAddressingNV
    case 5439:  // TensorAddressingNV
      return ROOFTILE_EMBED_MATRIX_NV2 | ROOFTILE_EMBED_MATRIX_WORKGROUP;
    case 6018:  // DotProductInput4x8BitPacked
    case 6019:  // DotProduct
      return ROOFTILE_EMBED_DOT;
    case 6033:  // AtomicFloat32AddEXT
      return ROOFTILE_EMBED_ATOMIC_ADD;
    default:
      fail(ErrorCode::kInternal, "SPIR-V capability {} has no feature of embedded kernels",
           capability);
  }
}

}  // namespace

EmbeddedShader embedded_shader(const Shader& shader) {
  const std::vector<std::uint32_t> module = compile(shader);
  EmbeddedShader made;
  made.code.assign(module.begin(), module.begin() + kSpirvHeaderWords);
  std::uint32_t features = 0;
  for_each_spirv_instruction(module, [&](SpirvWords x) {
    if (is_for_people(spirv_opcode(x))) return;
    if (spirv_opcode(x) == kOpCapability) features |= features_of(x[1]);
    if (spirv_opcode(x) == kOpExecutionMode && x.size() == 6 && x[2] == kLocalSize) {
      made.facts.local_x = static_cast<int>(x[3]);
      made.facts.local_size = static_cast<int>(x[3] * x[4] * x[5]);
    }
    made.code.insert(made.code.end(), x.begin(), x.end());
  });
  rte_shader& facts = made.facts;
  const std::vector<BindingKind>& bindings = shader.interface.bindings;
  if (bindings.size() > std::size(facts.kinds))
    fail(ErrorCode::kInternal, "a kernel has {} bindings", bindings.size());
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    facts.kinds[i] = texel_of(bindings[i]).vk_format;
    if (facts.kinds[i] != 0) features |= ROOFTILE_EMBED_TEXELS;
  }
  facts.words = static_cast<int>(made.code.size());
  facts.bindings = static_cast<int>(bindings.size());
  facts.push_bytes = static_cast<int>(shader.interface.push_constants_bytes);
  facts.subgroup_size = static_cast<int>(shader.interface.subgroup_size);
  facts.features = static_cast<int>(features);
  return made;
}

}  // namespace rooftile
