#include "runtime/device/physical/driver_text.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(DriverText, IsWhatTheDriverSaysElseItsNameAndVersion) {
  EXPECT_EQ(driver_text("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", 1), "Mesa 22.3.6 (LLVM 15.0.6)");
  EXPECT_EQ(driver_text("SwiftShader driver", "", 5u << 22), "SwiftShader driver 5.0.0");
  EXPECT_EQ(driver_text("", "", 1u << 22 | 2u << 12 | 3u), "driver 1.2.3");
}

}  // namespace
}  // namespace rooftile
