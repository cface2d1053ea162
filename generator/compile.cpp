#include "generator/compile.h"

#include <shaderc/shaderc.hpp>

#include "core/error.h"
#include "generator/matrix_types.h"

namespace rooftile {

std::vector<std::uint32_t> compile(const Shader& shader) {
  // One a thread: a compiler object must not be used by two threads at once.
  thread_local const shaderc::Compiler compiler;
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shader.matrix_units
                                                              ? shaderc_env_version_vulkan_1_2
                                                              : shaderc_env_version_vulkan_1_1);
  options.SetTargetSpirv(shader.matrix_units ? shaderc_spirv_version_1_5
                                             : shaderc_spirv_version_1_3);
  options.SetOptimizationLevel(shader.optimization == Optimization::kPerformance
                                   ? shaderc_optimization_level_performance
                                   : shaderc_optimization_level_zero);
  const shaderc::SpvCompilationResult result =
      compiler.CompileGlslToSpv(shader.glsl, shaderc_compute_shader, "kernel.comp", options);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success)
    fail(ErrorCode::kCompile,
         "the generated kernel {} does not compile (keep its text and report it): {}", shader.hash,
         result.GetErrorMessage());
  return resolve_matrix_types({result.cbegin(), result.cend()});
}

}  // namespace rooftile
