#include "runtime/device/timestamps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rooftile {
namespace {

TEST(Timestamps, FractionalPeriodIsKept) {
  EXPECT_DOUBLE_EQ(elapsed_ns(1000, 1007, 64, 1.0), 7.0);
  EXPECT_DOUBLE_EQ(elapsed_ns(1000, 1003, 64, 83.333), 3 * 83.333);  // Intel's 12 MHz clock
  EXPECT_DOUBLE_EQ(elapsed_ns(5, 5, 36, 52.08), 0.0);
}

TEST(Timestamps, OneWrapAroundVanishes) {
  const std::uint64_t top36 = (std::uint64_t{1} << 36) - 1;
  EXPECT_DOUBLE_EQ(elapsed_ns(top36 - 2, 4, 36, 1.0), 7.0);
  EXPECT_DOUBLE_EQ(elapsed_ns(~std::uint64_t{0}, 1, 64, 2.0), 4.0);
}

TEST(Timestamps, BitsAboveTheValidOnesAreIgnored) {
  EXPECT_DOUBLE_EQ(elapsed_ns(0xabc0'0000'0000'0010, 0x1230'0000'0000'0031, 32, 1.0), 0x21);
}

RC_GTEST_PROP(Timestamps, AnyStartAnyWidthGivesTheTicksPassed,
              (std::uint64_t start, std::uint32_t ticks)) {
  const auto bits = *rc::gen::inRange<std::uint32_t>(33, 65);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  RC_ASSERT(elapsed_ns(start & mask, (start + ticks) & mask, bits, 0.5) == 0.5 * ticks);
}

}  // namespace
}  // namespace rooftile
