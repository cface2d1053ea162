#include "runtime/host/host_advice.h"

#include <gmock/gmock.h>

namespace rooftile {
namespace {

TEST(HostAdvice, NamesTheKernelsThatUseTheVectorUnit) {
  EXPECT_THAT(host_advice("Prescott", VectorUnit::kAvx512),
              testing::HasSubstr("OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_THAT(host_advice("Sandybridge", VectorUnit::kAvx2),
              testing::HasSubstr("OPENBLAS_CORETYPE=Haswell"));
}

TEST(HostAdvice, IsSilentWhereTheKernelsFit) {
  EXPECT_EQ(host_advice("SkylakeX", VectorUnit::kAvx512), "");
  EXPECT_EQ(host_advice("Haswell", VectorUnit::kAvx512), "");
  EXPECT_EQ(host_advice("Prescott", VectorUnit::kOlder), "");
  EXPECT_EQ(host_advice("unknown", VectorUnit::kAvx512), "");
}

}  // namespace
}  // namespace rooftile
