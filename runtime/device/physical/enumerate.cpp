#include "runtime/device/physical/enumerate.h"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "core/error.h"
#include "runtime/device/physical/error_translation.h"
#include "runtime/device/physical/exit_of_children.h"
#include "runtime/device/physical/instance.h"
#include "runtime/device/physical/profile.h"

namespace rooftile {
namespace {

void add_note(std::string& note, const std::string& text) {
  if (!text.empty()) note += (note.empty() ? "" : "; ") + text;
}

vk::raii::PhysicalDevices list_devices(const Instance& instance) {
  try {
    return vk::raii::PhysicalDevices(instance.handle);
  } catch (const vk::InitializationFailedError&) {
    // Loaders up to 1.3.239 report this when every driver works and none finds hardware.
    fail(ErrorCode::kDevice,
         "the installed Vulkan drivers find no device of theirs; install the device's own driver, "
         "or mesa-vulkan-drivers for a software device");
  } catch (const vk::SystemError& error) {
    throw_translated(error, "listing the Vulkan devices", ErrorCode::kDevice);
  }
}

/// Reads one device; an error in it does not hide the others.
std::optional<OfferedDevice> read_offer(const Instance& instance,
                                        const vk::raii::PhysicalDevice& physical,
                                        std::string& note) {
  try {
    if (auto details = read_details(physical, *instance.handle)) return std::move(details->offer);
    add_note(note, fmt::format("{} is left out: older than Vulkan 1.1 or without a compute queue",
                               physical.getProperties().deviceName.data()));
  } catch (const vk::SystemError& error) {
    add_note(note,
             fmt::format("a device is left out: its properties cannot be read ({})", error.what()));
  }
  return std::nullopt;
}

}  // namespace

void load_drivers() noexcept try {
  const LoadingDrivers loading;
  shared_instance();
} catch (...) {  // enumerate_devices() reports the reason.
}

Enumeration enumerate_devices() {
  const LoadingDrivers loading;
  Enumeration result;
  try {
    const Instance& instance = shared_instance();
    add_note(result.note, instance.note);
    std::vector<OfferedDevice> offers;
    for (const vk::raii::PhysicalDevice& physical : list_devices(instance)) {
      if (auto offer = read_offer(instance, physical, result.note))
        offers.push_back(std::move(*offer));
    }
    OrderedDevices ordered = order_devices(std::move(offers));
    add_note(result.note, ordered.note);
    result.devices = std::move(ordered.devices);
    if (result.devices.empty() && result.note.empty()) result.note = "Vulkan offers no device";
  } catch (const std::bad_alloc&) {
    throw;  // A caller would take it for a machine without a device.
  } catch (const std::exception& error) {
    add_note(result.note, error.what());
  }
  return result;
}

}  // namespace rooftile
