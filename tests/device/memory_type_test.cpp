#include "runtime/device/physical/memory_type.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

constexpr std::uint32_t kAll = ~0u;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Memory types of a discrete card with a resizable BAR: system, cached system, local, and
// host-visible local memory.
const std::vector<MemoryType> kDiscrete = {
    {.heap_bytes = 64 * kGiB},
    {.device_local = true, .heap_bytes = 16 * kGiB},
    {.host_visible = true, .host_coherent = true, .heap_bytes = 64 * kGiB},
    {.host_visible = true, .host_coherent = true, .host_cached = true, .heap_bytes = 64 * kGiB},
    {.device_local = true, .host_visible = true, .host_coherent = true, .heap_bytes = 16 * kGiB},
};
// Memory types of a phone: coherent, and cached but not coherent.
const std::vector<MemoryType> kPhone = {
    {.device_local = true, .host_visible = true, .host_coherent = true, .heap_bytes = 4 * kGiB},
    {.device_local = true, .host_visible = true, .host_cached = true, .heap_bytes = 4 * kGiB},
    {.device_local = true, .special = true, .heap_bytes = 8 * kGiB},
};

TEST(MemoryType, DiscreteCardKeepsItsWindowFree) {
  EXPECT_EQ(choose_memory_type(kDiscrete, kAll, BufferUse::kDevice, false), 1u);
  EXPECT_EQ(choose_memory_type(kDiscrete, kAll, BufferUse::kUpload, false), 2u);
  EXPECT_EQ(choose_memory_type(kDiscrete, kAll, BufferUse::kDownload, false), 3u);
}

TEST(MemoryType, OnlyAllowedTypesAreChosen) {
  EXPECT_EQ(choose_memory_type(kDiscrete, 0b10000, BufferUse::kDevice, false), 4u);
  EXPECT_EQ(choose_memory_type(kDiscrete, 0b10001, BufferUse::kUpload, false), 4u);
  EXPECT_EQ(choose_memory_type(kDiscrete, 0b00101, BufferUse::kDownload, false), 2u);
  EXPECT_EQ(choose_memory_type(kDiscrete, 0b00001, BufferUse::kUpload, false), std::nullopt);
  EXPECT_EQ(choose_memory_type(kDiscrete, 0b00011, BufferUse::kDownload, false), std::nullopt);
  EXPECT_EQ(choose_memory_type(kDiscrete, 0, BufferUse::kDevice, false), std::nullopt);
}

TEST(MemoryType, UnifiedMemoryIsMappedForKernels) {
  EXPECT_EQ(choose_memory_type(kPhone, kAll, BufferUse::kDevice, true), 0u);
  EXPECT_EQ(choose_memory_type(kPhone, kAll, BufferUse::kUpload, true), 0u);
}

TEST(MemoryType, ReadsPreferCachedToCoherent) {
  EXPECT_EQ(choose_memory_type(kPhone, kAll, BufferUse::kDownload, true), 1u);
}

TEST(MemoryType, SpecialTypesAreNeverChosen) {
  EXPECT_EQ(choose_memory_type(kPhone, 0b100, BufferUse::kDevice, true), std::nullopt);
}

TEST(MemoryType, AmongEqualsTheLargerHeapThenTheFirst) {
  const std::vector<MemoryType> window = {{.device_local = true, .heap_bytes = kGiB},
                                          {.device_local = true, .heap_bytes = 8 * kGiB},
                                          {.device_local = true, .heap_bytes = 8 * kGiB}};
  EXPECT_EQ(choose_memory_type(window, kAll, BufferUse::kDevice, false), 1u);
}

}  // namespace
}  // namespace rooftile
