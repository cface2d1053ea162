#include "core/count_text.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(CountText, OneThingIsSingular) {
  EXPECT_EQ(count_text(1, "ranked kernel"), "1 ranked kernel");
  EXPECT_EQ(count_text(0u, "tensor"), "0 tensors");
  EXPECT_EQ(count_text(2, "sample"), "2 samples");
  EXPECT_EQ(count_text(1, "pass"), "1 pass");
  EXPECT_EQ(count_text(3, "pass"), "3 passes");
}

}  // namespace
}  // namespace rooftile
