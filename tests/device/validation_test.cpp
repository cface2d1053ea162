#include <gmock/gmock.h>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

// Shows that the validation layer reports hazards, so that its silence in all other tests is
// meaningful. (Layer 1.3.239 reports a dispatch that reads what another one wrote, but not two
// dispatches that write the same. Messages of layer 1.4.309 lack the identifier with dashes.)
TEST(Validation, AMissingBarrierIsReported) {
  Device& device = test_device();
  const Affine affine(device);
  const Buffer x = device.create_buffer(64, BufferUse::kUpload);
  const Buffer y = device.create_buffer(64, BufferUse::kDownload);
  const Step there = affine.step({&x}, {&y}, {.n = 16, .factor = 1.0f});
  const Step back = affine.step({&y}, {&x}, {.n = 16, .factor = 1.0f});
  ASSERT_THAT(validation_messages(), testing::IsEmpty());
  device.record(std::vector<Step>{there, back});
  EXPECT_THAT(take_validation_messages(),
              testing::Contains(testing::ContainsRegex("READ[-_]AFTER[-_]WRITE")));
  device.record(std::vector<Step>{there, BarrierStep{}, back});
  EXPECT_THAT(validation_messages(), testing::IsEmpty());
}

}  // namespace
}  // namespace rooftile
