#include "in_registers.h"

#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

namespace rooftile {

std::string in_registers(const std::vector<std::uint32_t>& words, int nested) {
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_1);
  std::string messages;
  optimizer.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                                   const char* message) { messages += message; });
  optimizer.RegisterPass(spvtools::CreateInlineExhaustivePass())
      .RegisterPass(spvtools::CreateEliminateDeadFunctionsPass())
      .RegisterPass(spvtools::CreatePrivateToLocalPass());
  // A loop can be unrolled only after the bounds of the outer loop are constants.
  for (int depth = 0; depth < nested; ++depth)
    optimizer.RegisterPass(spvtools::CreateScalarReplacementPass(0))
        .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
        .RegisterPass(spvtools::CreateSSARewritePass())
        .RegisterPass(spvtools::CreateCCPPass())
        .RegisterPass(spvtools::CreateDeadBranchElimPass())
        .RegisterPass(spvtools::CreateBlockMergePass())
        .RegisterPass(spvtools::CreateSimplificationPass())
        .RegisterPass(spvtools::CreateLoopUnrollPass(true));
  optimizer.RegisterPass(spvtools::CreateAggressiveDCEPass());
  std::vector<std::uint32_t> registers;
  EXPECT_TRUE(optimizer.Run(words.data(), words.size(), &registers)) << messages;
  std::string text;
  spvtools::SpirvTools(SPV_ENV_VULKAN_1_1).Disassemble(registers, &text);
  return text;
}

}  // namespace rooftile
