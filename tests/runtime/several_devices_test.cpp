// Several devices in one process. The second one belongs to a copy of the driver, and claims to be
// another card of the same model.
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/resident/resident.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/lavapipe_manifest.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The file of a library that a manifest names by its path or, since Debian 13, by its file name.
fs::path found_by_the_linker(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  if (handle == nullptr || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    throw std::runtime_error(::dlerror());
  const fs::path file = map->l_name;
  ::dlclose(handle);
  return file;
}

template <typename Function>
Function loaders(const char* name) {
  static void* const loader = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(::dlsym(loader, name));
}

/// Gives each device, except for the first one that is queried, a UUID of its own.
VKAPI_ATTR void VKAPI_CALL tell_apart(VkPhysicalDevice device,
                                      VkPhysicalDeviceProperties2* properties) {
  static const auto real =
      loaders<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2");
  static std::vector<VkPhysicalDevice> known;
  static std::mutex mutex;
  real(device, properties);
  const std::lock_guard lock(mutex);
  if (std::ranges::find(known, device) == known.end()) known.push_back(device);
  const auto card = static_cast<std::uint8_t>(std::ranges::find(known, device) - known.begin());
  for (auto* next = static_cast<VkBaseOutStructure*>(properties->pNext); next != nullptr;
       next = next->pNext)
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceIDProperties*>(next)->deviceUUID[0] ^= card;
}

PFN_vkVoidFunction in_front(const char* name) {
  const std::string_view asked = name;
  const bool ours =
      asked == "vkGetPhysicalDeviceProperties2" || asked == "vkGetPhysicalDeviceProperties2KHR";
  return ours ? reinterpret_cast<PFN_vkVoidFunction>(&tell_apart) : nullptr;
}

/// Installs both drivers before the first use of Vulkan, until the process ends.
class TwoDrivers : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string manifest_path = lavapipe_manifest();
    std::ifstream manifest(manifest_path);
    std::string text((std::istreambuf_iterator<char>(manifest)), {});
    const std::string key = "\"library_path\": \"";
    const std::size_t begin = text.find(key) + key.size(), end = text.find('"', begin);
    ASSERT_NE(end, std::string::npos) << manifest_path;
    // The loader makes one driver of one file, whatever its name, so that the file has to be
    // copied.
    fs::copy_file(found_by_the_linker(text.substr(begin, end - begin)),
                  folder_ / "libvulkan_copy.so");
    text.replace(begin, end - begin, (folder_ / "libvulkan_copy.so").string());
    std::ofstream(folder_ / "copy.json") << text;
    const std::string both = manifest_path + (":" + (folder_ / "copy.json").string());
    for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
      ::setenv(variable, both.c_str(), 1);
    FaultyDriver::put_in_front(&in_front);
  }

 private:
  ScratchFolder folder_;
};
[[maybe_unused]] const auto* const two_drivers =
    ::testing::AddGlobalTestEnvironment(new TwoDrivers);  // GoogleTest takes ownership.

class SeveralDevices : public Faults {
 protected:
  void SetUp() override {
    const Enumeration found = enumerate_devices();
    ASSERT_EQ(found.devices.size(), 2u) << found.note;
    devices_ = {found.devices[0], found.devices[1]};
    ASSERT_EQ(devices_[0].name, devices_[1].name);
    ASSERT_NE(devices_[0].device_uuid, devices_[1].device_uuid);
    for (const DeviceProfile& device : devices_)
      write_test_database(database_, device, {fast_kernel(device), fallback_variant()}, {}, {},
                          no_host());
  }
  std::unique_ptr<Context> open_on(const DeviceProfile& device) const {
    ContextOptions options = this->options();
    options.device = device.device_uuid;
    return std::make_unique<Context>(options);
  }

  std::array<DeviceProfile, 2> devices_;
};

TEST_F(SeveralDevices, ComputeSideBySide) {
  const auto first = open_on(devices_[0]), second = open_on(devices_[1]);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i)
        for (Context* const context : {first.get(), second.get()})
          expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
    });
  threads.clear();
  EXPECT_NE(first->resident()->device(), second->resident()->device());
  EXPECT_EQ(first->resident()->device()->profile().device_uuid, devices_[0].device_uuid);
  EXPECT_EQ(second->resident()->device()->profile().device_uuid, devices_[1].device_uuid);
}

TEST_F(SeveralDevices, ALostDeviceDoesNotAffectTheOthers) {
  const auto lost = open_on(devices_[0]), sound = open_on(devices_[1]);
  for (Context* const context : {lost.get(), sound.get()})
    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const std::string said = said_by([&] {
    FaultyDriver::fail_once(FaultyDriver::Call::kWait, VK_ERROR_DEVICE_LOST);
    expect(multiply(*lost), Tier::kHost, Reason::kFailed);
    for (int call = 0; call < 3; ++call) {
      expect(multiply(*lost), Tier::kHost, Reason::kPredicted);
      expect(multiply(*sound), Tier::kDevice, Reason::kPredicted);
    }
  });
  expect_one_line(said, "was lost");
}

TEST_F(SeveralDevices, TheEnvironmentChoosesOne) {
  for (const DeviceProfile& device : devices_) {
    const ScopedEnvironment wanted("ROOFTILE_DEVICE", device.device_uuid);
    const auto context = open();
    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
    EXPECT_EQ(context->resident()->device()->profile().device_uuid, device.device_uuid);
  }
}

}  // namespace
}  // namespace rooftile
