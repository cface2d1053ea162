#include "web/module/spirv.h"

#include <SPIRV/GlslangToSpv.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>

namespace rooftile::web {

std::vector<std::uint32_t> compile_glsl(const char* glsl, std::string& error) {
  static const bool ready = glslang::InitializeProcess();
  if (!ready) {
    error = "glslang cannot be initialised";
    return {};
  }
  glslang::TShader shader(EShLangCompute);
  shader.setStrings(&glsl, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
  const auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  if (!shader.parse(GetDefaultResources(), 450, false, messages)) {
    error = shader.getInfoLog();
    return {};
  }
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(messages)) {
    error = program.getInfoLog();
    return {};
  }
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  std::vector<unsigned int> words;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  return {words.begin(), words.end()};
}

}  // namespace rooftile::web
