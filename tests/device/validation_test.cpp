#include <gmock/gmock.h>

#include "test_device.h"

namespace rooftile {
namespace {

// Without this the silence of the layer in all other tests would prove nothing.
TEST(Validation, AMissingBarrierIsReported) {
  Device& device = test_device();
  const Affine affine(device);
  const Buffer x = device.create_buffer(64, BufferUse::kUpload),
               y = device.create_buffer(64, BufferUse::kDownload);
  const Step step = affine.step({&x}, {&y}, {.n = 16, .factor = 1.0f});
  ASSERT_THAT(validation_messages(), testing::IsEmpty());
  device.record(std::vector<Step>{step, step});
  EXPECT_THAT(take_validation_messages(),
              testing::Contains(testing::HasSubstr("SYNC-HAZARD-WRITE-AFTER-WRITE")));
  EXPECT_THAT(validation_messages(), testing::IsEmpty());
  device.record(std::vector<Step>{step, BarrierStep{}, step});
}

}  // namespace
}  // namespace rooftile
