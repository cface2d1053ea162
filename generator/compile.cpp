#include "generator/compile.h"

#include <map>
#include <shaderc/shaderc.hpp>

#include "core/error.h"
#include "core/spirv_words.h"
#include "generator/matrix_types.h"

namespace rooftile {
namespace {

/// Vulkan and SPIR-V that a shader is written for: matrices take SPIR-V 1.3 with the Vulkan memory
/// model, which came with 1.5; tensor addressing takes 1.6.
struct Target {
  shaderc_env_version vulkan;
  shaderc_spirv_version spirv;
};
Target target_of(const Shader& shader) {
  if (shader.tensor_addressing) return {shaderc_env_version_vulkan_1_3, shaderc_spirv_version_1_6};
  if (shader.matrix_units) return {shaderc_env_version_vulkan_1_2, shaderc_spirv_version_1_5};
  return {shaderc_env_version_vulkan_1_1, shaderc_spirv_version_1_3};
}

// Numbers of the SPIR-V specification (sections 3.6, 3.49).
constexpr std::uint32_t kOpExecutionMode = 16, kOpConstant = 43, kOpExecutionModeId = 331,
                        kLocalSize = 17, kLocalSizeId = 38;

/// In SPIR-V 1.6 the compiler gives the size of the workgroup by ids of constants, which needs a
/// feature of the device (maintenance4). This writes it as numbers, which is as legal and as long.
void write_local_size_as_numbers(std::vector<std::uint32_t>& module) {
  std::map<std::uint32_t, std::uint32_t> constants;  // of one word: id -> value
  std::uint32_t* mode = nullptr;
  for_each_spirv_instruction(module, [&](SpirvWords instruction) {
    const std::uint32_t opcode = spirv_opcode(instruction);
    if (opcode == kOpConstant && instruction.size() == 4)
      constants[instruction[2]] = instruction[3];
    if (opcode == kOpExecutionModeId && instruction.size() == 6 && instruction[2] == kLocalSizeId)
      mode = module.data() + (instruction.data() - module.data());
  });
  if (mode == nullptr) return;
  mode[0] = 6u << 16 | kOpExecutionMode;
  mode[2] = kLocalSize;
  for (int side = 3; side < 6; ++side) mode[side] = constants.at(mode[side]);
}

}  // namespace

std::vector<std::uint32_t> compile(const Shader& shader) {
  // glslang frees its table of built-in names (12 MB) with the last compiler of a process. Making
  // it again takes 80 ms, as long as compiling ten small kernels.
  static const shaderc::Compiler kept;
  static_cast<void>(kept);
  // Each thread has its own compiler, because two threads must not use one at once.
  thread_local const shaderc::Compiler compiler;
  shaderc::CompileOptions options;
  const Target target = target_of(shader);
  options.SetTargetEnvironment(shaderc_target_env_vulkan, target.vulkan);
  options.SetTargetSpirv(target.spirv);
  options.SetOptimizationLevel(shader.optimization == Optimization::kPerformance
                                   ? shaderc_optimization_level_performance
                                   : shaderc_optimization_level_zero);
  const shaderc::SpvCompilationResult result =
      compiler.CompileGlslToSpv(shader.glsl, shaderc_compute_shader, "kernel.comp", options);
  // The library gives no reason where it caught an exception, or has no memory for a result.
  if (result.GetCompilationStatus() != shaderc_compilation_status_success &&
      result.GetErrorMessage().empty())
    fail(ErrorCode::kOutOfMemory,
         "the shader compiler gave up on the generated kernel {} without a reason, as it does when "
         "memory runs out; free memory, or raise the limit on it (ulimit -v)",
         shader.hash);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success)
    fail(ErrorCode::kCompile,
         "the generated kernel {} does not compile (keep its text and report it): {}", shader.hash,
         result.GetErrorMessage());
  std::vector<std::uint32_t> module = {result.cbegin(), result.cend()};
  if (shader.matrix_units) module = resolve_matrix_types(module);
  if (shader.tensor_addressing) write_local_size_as_numbers(module);
  return module;
}

}  // namespace rooftile
