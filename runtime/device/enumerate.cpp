#include <fmt/format.h>

#include "core/error.h"
#include "runtime/device/device.h"
#include "runtime/device/error_translation.h"
#include "runtime/device/instance.h"
#include "runtime/device/profile.h"

namespace rooftile {
namespace {

void add_note(std::string& note, const std::string& text) {
  if (!text.empty()) note += (note.empty() ? "" : "; ") + text;
}

}  // namespace

Enumeration enumerate_devices() {
  Enumeration result;
  try {
    Instance& instance = shared_instance();
    add_note(result.note, instance.note);
    std::vector<OfferedDevice> offers;
    const auto physicals = translated("listing the Vulkan devices",
                                      [&] { return instance.handle.enumeratePhysicalDevices(); });
    for (const vk::raii::PhysicalDevice& physical : physicals) {
      const auto details =
          translated("reading a device's properties", [&] { return read_details(physical); });
      if (details) {
        offers.push_back(details->offer);
      } else {
        add_note(result.note,
                 fmt::format("{} is left out: older than Vulkan 1.1 or without a compute queue",
                             physical.getProperties().deviceName.data()));
      }
    }
    OrderedDevices ordered = order_devices(std::move(offers));
    add_note(result.note, ordered.note);
    result.devices = std::move(ordered.devices);
    if (physicals.empty())
      add_note(result.note, "no installed Vulkan driver found a device of its own");
  } catch (const std::exception& error) {
    result.devices.clear();
    add_note(result.note, error.what());
  }
  return result;
}

}  // namespace rooftile
