// Tests every rule on variant and device: a legal point, one changed parameter or limit, and the
// reason for the refusal.
#include <gmock/gmock.h>

#include "test_limits.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

struct Broken {
  Variant from;
  std::string changes;  // "parameter=value ..." applied to the legal point
  std::string reason;   // substring of the reason
};

TEST(DeviceRules, AcceptTheExamplePoints) {
  for (const Variant& v :
       {naive_point(), register_point(), tiled_point(), broadcast_point(), vector_point()})
    EXPECT_EQ(reason(v, lavapipe_limits()), "") << to_string(v);
}

TEST(DeviceRules, RejectEachBrokenPointWithItsReason) {
  const std::vector<Broken> cases = {
      {register_point(), "tile_m=0", "must lie between 1 and 1024"},
      {register_point(), "tile_n=2048", "must lie between 1 and 1024"},
      {register_point(), "unroll_k=0", "must lie between 1 and 1024"},
      {register_point(), "vector_width_a=3", "must be 1, 2 or 4"},
      {register_point(), "vector_width_b=8", "must be 1, 2 or 4"},
      {register_point(), "reg_m=3", "reg_m must divide tile_m"},
      {register_point(), "reg_n=5", "reg_n must divide tile_n"},
      {register_point(), "stage=shared", "stage must be"},
      {tiled_point(), "stage=none", "stage must be"},
      {naive_point(), "stage=subgroup", "stage must be"},
      {register_point(), "prefetch=ahead", "prefetch ahead is for"},
      {vector_point(), "prefetch=ahead", "prefetch ahead is for"},
      {vector_point(), "tile_n=64 reg_n=8 stage=stored prefetch=ahead", "prefetch ahead is for"},
      {vector_point(), "stage=stored prefetch=peeled", "prefetch peeled is for matrix"},
      {vector_point(), "subgroups_k=2", "subgroups_k must be 1"},
      {tiled_point(), "stages=2 prefetch=ahead", "prefetch ahead is for"},
      {tiled_point(), "stages=1 prefetch=peeled", "prefetch peeled is for matrix"},
      {tiled_point(), "store_map=permuted", "store_map permuted is for"},
      {register_point(), "tile_k=8", "only they and vector have tile_k"},
      {register_point(), "stages=2", "only tiled and matrix have stages"},
      {broadcast_point(), "shared_pad=4", "only tiled and matrix have stages"},
      {naive_point(), "reg_m=2", "naive computes one element"},
      {naive_point(), "unroll_k=4", "naive computes one element"},
      {naive_point(), "load_path_a=texel", "naive computes one element"},
      {naive_point(), "edge=exact", "naive and vector check the edges"},
      {vector_point(), "edge=exact", "naive and vector check the edges"},
      {naive_point(), "split_k=2", "split_k must lie"},
      {register_point(), "split_k=0", "split_k must lie"},
      {register_point(), "split_k=257", "split_k must lie"},
      {register_point(), "tile_batch=2", "only batched_small has tile_batch"},
      {register_point(), "family=batched_small", "only batched_small has tile_batch"},
      {register_point(), "family=batched_small tile_batch=2 split_k=2", "split_k must lie"},
      {vector_point(), "stages=2", "only tiled and matrix have stages"},
      {vector_point(), "stage=none", "stage must be"},
      {vector_point(), "tile_k=4", "stage must be"},
      {vector_point(), "stage=none", "stage must be"},
      {vector_point(), "tile_k=4 stage=stored", "stage must be"},
      {tiled_point(), "stage=subgroup", "stage must be"},
      {tiled_point(), "stage=stored", "one tile in shared memory"},
      {vector_point(), "tile_m=8 reg_m=4 tile_n=4 reg_n=4 stage=stored", "the same rows of A"},
      {vector_point(), "tile_m=8", "whole rows or whole columns"},
      {vector_point(), "tile_k=24", "power of two of lanes"},
      {vector_point(), "tile_k=30", "power of two of lanes"},
      {vector_point(), "unroll_k=2", "vector_width_a must divide"},
      {vector_point(), "packed_b=yes", "only register, broadcast and matrix read packed"},
      {naive_point(), "packed_a=yes", "only register, broadcast and matrix read packed"},
      {tiled_point(), "packed_b=yes", "only register, broadcast and matrix read packed"},
      {register_point(), "unroll_k=2", "vector_width_a must divide"},
      {register_point(), "reg_m=2", "vector_width_a must divide"},
      {register_point(), "reg_n=2", "vector_width_b must divide"},
      {register_point(), "packed_a=yes vector_width_a=2", "read in vectors of 4"},
      {register_point(), "packed_b=yes vector_width_b=1", "read in vectors of 4"},
      {register_point(), "load_path_a=texel vector_width_a=2", "texels hold 1 or 4"},
      {tiled_point(), "tile_m=48 reg_m=6 vector_width_a=2", "multiples of 4"},
      {tiled_point(), "subgroup_m=32", "tiled both or neither"},
      {register_point(), "subgroup_m=8 subgroup_n=32", "the others need 0"},
      {tiled_point(), "subgroup_m=24 subgroup_n=32", "divide each other"},
      {tiled_point(), "subgroup_m=64 subgroup_n=64", "divide each other"},
      {tiled_point(), "shared_pad=3", "shared_pad must be"},
      {tiled_point(), "shared_pad=64", "shared_pad must be"},
      {tiled_point(), "stages=3", "stages must be 1 or 2"},
      {tiled_point(), "unroll_k=6", "unroll_k must divide tile_k"},
      {tiled_point(), "tile_k=4 unroll_k=4", "share the loads"},
      {broadcast_point(), "tile_m=32", "one subgroup a workgroup"},
      {broadcast_point(), "tile_n=128", "one subgroup a workgroup"},
      {broadcast_point(), "subgroup_size=0", "one subgroup a workgroup"},
      {register_point(), "subgroup_size=32", "whole subgroups"},
      {register_point(), "subgroup_size=16", "does not run subgroups"},
      {broadcast_point(), "subgroup_size=16 tile_n=128", "does not run subgroups"},
      {broadcast_point(), "packed_a=no", "stage subgroup reads packed A"},
      {broadcast_point(), "tile_m=4 reg_m=4 unroll_k=4", "share reg_m * unroll_k / 4"},
      {register_point(), "tile_m=512 tile_n=512", "more invocations"},
      {tiled_point(), "tile_m=512 tile_n=512 reg_m=16 reg_n=16 tile_k=16", "shared memory"},
      {broadcast_point(), "tile_m=64 reg_m=64 tile_n=128 reg_n=16", "too many values"},
      {register_point(), "tile_m=32 tile_n=64 reg_m=16 reg_n=16 unroll_k=4", "too many values"},
  };
  for (const Broken& broken : cases) {
    const Variant v = changed(broken.from, broken.changes);
    EXPECT_THAT(reason(v, lavapipe_limits()), HasSubstr(broken.reason)) << broken.changes;
  }
}

TEST(DeviceRules, RejectWhatTheDeviceLacks) {
  DeviceLimits limits = lavapipe_limits();
  limits.texel_buffer_rgba32 = false;
  EXPECT_EQ(reason(broadcast_point(), limits), "the device has no RGBA32 texel buffers");

  limits = lavapipe_limits();
  limits.texel_buffer_r32 = false;
  const Variant scalar = changed(register_point(), "load_path_b=texel vector_width_b=1");
  EXPECT_EQ(reason(scalar, lavapipe_limits()), "");
  EXPECT_EQ(reason(scalar, limits), "the device has no R32 texel buffers");

  limits = lavapipe_limits();
  limits.subgroup_broadcast = false;
  EXPECT_THAT(reason(broadcast_point(), limits), HasSubstr("no subgroup broadcast"));
  EXPECT_EQ(reason(with(broadcast_point(), "stage", "none"), limits), "");

  limits = lavapipe_limits();
  limits.max_push_constants_bytes = 40;
  EXPECT_THAT(reason(naive_point(), limits), HasSubstr("push constants"));

  limits = lavapipe_limits();
  limits.max_workgroup_size[0] = 64;
  EXPECT_THAT(reason(tiled_point(), limits), HasSubstr("more invocations"));
}

TEST(DeviceRules, AcceptSharedMemoryUpToTheLimit) {
  DeviceLimits limits = lavapipe_limits();
  // Shared memory holds 2 stages of 16 rows of (64 + 4) + (32 + 4) floats.
  EXPECT_EQ(shared_bytes(tiled_point()), 2 * 16 * (68 + 36) * 4);
  limits.shared_memory_bytes = static_cast<std::uint32_t>(shared_bytes(tiled_point()));
  EXPECT_EQ(reason(tiled_point(), limits), "");
  --limits.shared_memory_bytes;
  EXPECT_THAT(reason(tiled_point(), limits), HasSubstr("shared memory"));
}

TEST(DeviceRules, AcceptSubgroupSizesThatTheDriverCanBeAskedFor) {
  DeviceLimits limits = variable_limits();
  const auto sized = [](int lanes) {
    return changed(
        with(broadcast_point(), "stage", "none"),
        "subgroup_size=" + std::to_string(lanes) + " tile_n=" + std::to_string(8 * lanes));
  };
  EXPECT_EQ(reason(sized(64), limits), "");
  EXPECT_EQ(reason(sized(32), limits), "");
  EXPECT_THAT(reason(sized(16), limits), HasSubstr("does not run subgroups"));
  EXPECT_THAT(reason(sized(48), limits), HasSubstr("power of two"));
  limits.subgroup_size_control = false;
  EXPECT_THAT(reason(sized(32), limits), HasSubstr("does not run subgroups"));
}

}  // namespace
}  // namespace rooftile
