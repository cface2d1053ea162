#include "runtime/device/physical/device_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Offer {
  const char* uuid;
  const char* driver;
  DeviceKind kind = DeviceKind::kDiscrete;
  std::uint8_t conformance = 1;
  std::uint64_t memory_bytes = 1;
};

OfferedDevice offered(const Offer& offer) {
  OfferedDevice device;
  device.profile.name = "card";
  device.profile.device_uuid = offer.uuid;
  device.profile.driver_name = offer.driver;
  device.profile.kind = offer.kind;
  device.profile.device_memory_bytes = offer.memory_bytes;
  device.conformance = {offer.conformance, 3, 0, 0};
  return device;
}

std::vector<std::string> drivers(const OrderedDevices& ordered) {
  std::vector<std::string> names;
  for (const DeviceProfile& profile : ordered.devices) names.push_back(profile.driver_name);
  return names;
}

TEST(DeviceOrder, KindsComeInTheDocumentedOrder) {
  const auto ordered = order_devices({offered({"a", "software", DeviceKind::kSoftware}),
                                      offered({"b", "other", DeviceKind::kOther}),
                                      offered({"c", "virtual", DeviceKind::kVirtual}),
                                      offered({"d", "integrated", DeviceKind::kIntegrated}),
                                      offered({"e", "discrete", DeviceKind::kDiscrete})});
  EXPECT_THAT(drivers(ordered),
              ElementsAre("discrete", "integrated", "virtual", "other", "software"));
  EXPECT_EQ(ordered.note, "");
}

TEST(DeviceOrder, MoreMemoryFirstThenAsListed) {
  const auto ordered =
      order_devices({offered({.uuid = "a", .driver = "small", .memory_bytes = 8}),
                     offered({.uuid = "b", .driver = "large", .memory_bytes = 80}),
                     offered({.uuid = "c", .driver = "small too", .memory_bytes = 8})});
  EXPECT_THAT(drivers(ordered), ElementsAre("large", "small", "small too"));
}

TEST(DeviceOrder, TheSoftwareDeviceWithMoreLanesComesFirst) {
  OfferedDevice narrow = offered({"a", "narrow", DeviceKind::kSoftware, 1, 1000}),
                wide = offered({"b", "wide", DeviceKind::kSoftware});
  narrow.profile.limits.subgroup_size = 4;
  wide.profile.limits.subgroup_size = 8;
  EXPECT_THAT(drivers(order_devices({narrow, wide})), ElementsAre("wide", "narrow"));
  EXPECT_THAT(drivers(order_devices({wide, narrow})), ElementsAre("wide", "narrow"));
}

TEST(DeviceOrder, TheConformantDriverOfADuplicateStays) {
  const Offer conformant = {.uuid = "a", .driver = "conformant", .conformance = 1};
  const Offer untested = {.uuid = "a", .driver = "untested", .conformance = 0};
  for (const auto& offers : {std::vector{offered(conformant), offered(untested)},
                             std::vector{offered(untested), offered(conformant)}}) {
    const auto ordered = order_devices(offers);
    EXPECT_THAT(drivers(ordered), ElementsAre("conformant"));
    EXPECT_THAT(ordered.note, HasSubstr("untested left out"));
  }
}

TEST(DeviceOrder, AmongEqualsTheNewerApiThenTheFirstListedStays) {
  OfferedDevice older = offered({"a", "older"}), newer = offered({"a", "newer"}),
                last = offered({"a", "last"});
  older.profile.api_version = 1;
  newer.profile.api_version = last.profile.api_version = 2;
  EXPECT_THAT(drivers(order_devices({older, newer, last})), ElementsAre("newer"));
}

TEST(DeviceOrder, TwoCardsOfOneModelAreTwoDevices) {
  EXPECT_THAT(drivers(order_devices({offered({"a", "x"}), offered({"b", "x"})})),
              ElementsAre("x", "x"));
  EXPECT_TRUE(order_devices({}).devices.empty());
}

}  // namespace
}  // namespace rooftile
