#include "runtime/device/spirv_summary.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

// Header; OpEntryPoint GLCompute %4 "main"; OpExecutionMode %4 LocalSize 8 4 2; OpFunction %2 %4;
// OpLabel %5; OpReturn; OpFunctionEnd.
const std::vector<std::uint32_t> kModule = {0x07230203,
                                            0x00010300,
                                            0,
                                            10,
                                            0,  //
                                            5u << 16 | 15,
                                            5,
                                            4,
                                            0x6e69616d,
                                            0,  //
                                            6u << 16 | 16,
                                            4,
                                            17,
                                            8,
                                            4,
                                            2,  //
                                            5u << 16 | 54,
                                            2,
                                            4,
                                            0,
                                            3,  //
                                            2u << 16 | 248,
                                            5,
                                            1u << 16 | 253,
                                            1u << 16 | 56};

ErrorCode code_of_words(std::span<const std::uint32_t> words) {
  return code_of([&] { summarise_spirv(words); });
}

TEST(SpirvSummary, FindsTheWorkgroup) {
  EXPECT_EQ(summarise_spirv(kModule).local_size, (std::array<std::uint32_t, 3>{8, 4, 2}));
}

TEST(SpirvSummary, EveryCutModuleIsRefused) {
  for (std::size_t words = 0; words < kModule.size(); ++words) {
    const std::vector<std::uint32_t> cut(kModule.begin(),
                                         kModule.begin() + static_cast<std::ptrdiff_t>(words));
    EXPECT_EQ(code_of_words(cut), ErrorCode::kCompile) << words << " words";
  }
}

TEST(SpirvSummary, WrongMagicZeroLengthAndOtherNamesAreRefused) {
  auto module = kModule;
  module[0] = 0x03022307;  // wrong byte order
  EXPECT_EQ(code_of_words(module), ErrorCode::kCompile);
  module = kModule;
  module[10] = 16;  // An instruction of 0 words would cause an endless loop.
  EXPECT_EQ(code_of_words(module), ErrorCode::kCompile);
  module = kModule;
  module[8] = 0x6e69616e;  // "nain" instead of "main"
  EXPECT_EQ(code_of_words(module), ErrorCode::kCompile);
  module = kModule;
  module[6] = 4;  // a fragment shader
  EXPECT_EQ(code_of_words(module), ErrorCode::kCompile);
  module = kModule;
  module[18] = 7;  // the entry point's function is not defined
  EXPECT_EQ(code_of_words(module), ErrorCode::kCompile);
}

}  // namespace
}  // namespace rooftile
