#include "runtime/device/physical/pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class PciGpus : public ::testing::Test {
 protected:
  void add(const std::string& slot, const std::string& class_code, const std::string& vendor,
           const std::string& device) const {
    std::filesystem::create_directory(bus_ / slot);
    for (const auto& [name, text] :
         {std::pair("class", class_code), {"vendor", vendor}, {"device", device}})
      std::ofstream(bus_ / slot / name) << text << "\n";
  }

  ScratchFolder bus_;
};

TEST_F(PciGpus, AreDisplayControllersAndAccelerators) {
  add("0000:00:00.0", "0x060000", "0x8086", "0x0d57");  // a bridge
  add("0000:01:00.0", "0x030000", "0x1002", "0x744c");
  add("0000:02:00.0", "0x030200", "0x10de", "0x2335");
  add("0000:03:00.0", "0x120000", "0x1002", "0x74a1");
  add("0000:04:00.0", "0x020000", "0x10de", "0x2335");  // a network card
  EXPECT_THAT(
      pci_gpus(bus_.path()),
      UnorderedElementsAre(PciGpu{0x1002, 0x744c}, PciGpu{0x10de, 0x2335}, PciGpu{0x1002, 0x74a1}));
}

TEST_F(PciGpus, AreNoneWithoutABusOrWithUnreadableEntries) {
  EXPECT_THAT(pci_gpus(bus_ / "nowhere"), IsEmpty());
  std::filesystem::create_directory(bus_ / "0000:05:00.0");
  add("0000:06:00.0", "display", "0x10de", "0x2335");
  EXPECT_THAT(pci_gpus(bus_.path()), IsEmpty());
}

}  // namespace
}  // namespace rooftile
