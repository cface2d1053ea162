#include "compile_shader.h"

#include <shaderc/shaderc.hpp>
#include <stdexcept>
#include <string>

namespace rooftile {

std::vector<std::uint32_t> compile_shader(std::string_view body) {
  const std::string text =
      "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n" + std::string(body);
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  // While one compiler is left, the next one does not make the table of built-in names again.
  static const shaderc::Compiler kept;
  const auto module =
      shaderc::Compiler().CompileGlslToSpv(text, shaderc_compute_shader, "test.comp", options);
  if (module.GetCompilationStatus() != shaderc_compilation_status_success) {
    throw std::runtime_error(module.GetErrorMessage());
  }
  return {module.cbegin(), module.cend()};
}

}  // namespace rooftile
