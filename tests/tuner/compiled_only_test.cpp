// Spills that a real compiler reports drop a kernel before it runs. The device here cannot run
// any.
#include <gtest/gtest.h>

#include "core/error.h"
#include "runtime/device/device.h"
#include "tests/support/first_device.h"
#include "tuner/worker/measure.h"

namespace rooftile {
namespace {

TEST(CompiledOnlyTest, AKernelWithTooManySumsIsDropped) {
  const DeviceProfile profile = first_device();
  if (profile.kind == DeviceKind::kSoftware)
    GTEST_SKIP() << profile.name << " has no registers to tell of";
  const auto device = Device::open(profile, {.compiler_statistics = CompilerStatistics::kKeep});
  Variant variant;
  variant.family = Family::kTiled;
  variant.stage = Stage::kShared;
  variant.tile_m = variant.tile_n = 256;
  variant.tile_k = 8;
  variant.reg_m = variant.reg_n = 16;
  Measurer measurer(device);
  std::optional<TimeReply> reply;
  try {
    reply = measurer.time({.variant = variant,
                           .problem = packed_problem(300, 270, 65),
                           .samples = 1,
                           .spilled = Spilled::kDrop});
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  if (!spill_reason(compiler_facts(reply->statistics)))
    GTEST_SKIP() << "the compiler of " << profile.name << " tells no spills";
  EXPECT_NE(reply->dropped_reason, std::nullopt);
  EXPECT_TRUE(reply->kernel_ns.empty());
  EXPECT_FALSE(reply->hash.empty());
}

}  // namespace
}  // namespace rooftile
