#include <gmock/gmock.h>

#include <set>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

TEST(Enumerate, EveryDeviceIsDescribedInFull) {
  const Enumeration enumeration = enumerate_devices();
  ASSERT_FALSE(enumeration.devices.empty()) << enumeration.note;
  std::set<std::string> uuids;
  for (const DeviceProfile& device : enumeration.devices) {
    SCOPED_TRACE(device.name);
    EXPECT_NE(device.name, "");
    EXPECT_THAT(device.device_uuid, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_THAT(device.pipeline_cache_uuid, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_TRUE(uuids.insert(device.device_uuid).second) << "twice: " << device.device_uuid;
    EXPECT_NE(device.vendor_id, 0u);
    EXPECT_NE(device.driver_name, "");
    EXPECT_NE(device.driver_id, 0u);
    EXPECT_GE(device.api_version, 1u << 22 | 1u << 12);  // 1.1, as VK_MAKE_API_VERSION packs it
    EXPECT_GT(device.device_memory_bytes, 0u);

    // The specification's required minima of Vulkan 1.1.
    const DeviceLimits& limits = device.limits;
    EXPECT_GE(limits.max_workgroup_invocations, 128u);
    EXPECT_GE(limits.max_workgroup_size[0], 128u);
    EXPECT_GE(limits.max_workgroup_size[2], 64u);
    EXPECT_GE(limits.max_workgroup_count[1], 65535u);
    EXPECT_GE(limits.shared_memory_bytes, 16384u);
    EXPECT_GE(limits.max_push_constants_bytes, 128u);
    EXPECT_GE(limits.max_storage_buffer_range_bytes, 1u << 27);
    EXPECT_GE(limits.max_texel_buffer_elements, 65536u);
    EXPECT_GE(limits.max_memory_allocation_bytes, 1u << 30);
    for (const std::uint32_t alignment :
         {limits.storage_buffer_alignment_bytes, limits.texel_buffer_alignment_bytes}) {
      EXPECT_TRUE(alignment >= 1 && alignment <= 256 && (alignment & (alignment - 1)) == 0)
          << alignment;
    }
    EXPECT_TRUE(limits.texel_buffer_r32);
    EXPECT_TRUE(limits.texel_buffer_rgba32);
    EXPECT_GE(limits.subgroup_size, 1u);
    EXPECT_LE(limits.min_subgroup_size, limits.subgroup_size);
    EXPECT_GE(limits.max_subgroup_size, limits.subgroup_size);
    EXPECT_GT(limits.timestamp_period_ns, 0.0);
    EXPECT_TRUE(limits.timestamp_valid_bits == 0 ||
                (limits.timestamp_valid_bits >= 36 && limits.timestamp_valid_bits <= 64));
  }
}

TEST(Enumerate, SoftwareComesLast) {
  const auto devices = enumerate_devices().devices;
  EXPECT_TRUE(std::ranges::is_partitioned(
      devices, [](const DeviceProfile& x) { return x.kind != DeviceKind::kSoftware; }));
}

TEST(Enumerate, EnumeratingTwiceGivesTheSameDevices) {
  const auto first = enumerate_devices().devices, second = enumerate_devices().devices;
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].device_uuid, second[i].device_uuid);
}

TEST(Open, AnUnknownDeviceIsAnError) {
  DeviceProfile gone = first_profile();
  gone.device_uuid = std::string(32, 'f');
  EXPECT_EQ(code_of([&] { Device::open(gone); }), ErrorCode::kDevice);
}

TEST(Open, TwiceIsFine) {
  const auto first = Device::open(first_profile()), second = Device::open(first_profile());
  EXPECT_EQ(first->profile().name, second->profile().name);
  EXPECT_FALSE(first->lost());
}

}  // namespace
}  // namespace rooftile
