// The process's only VkInstance. Private to runtime/device.
#pragma once

#include <string>

#include "runtime/device/physical/vulkan.h"

namespace rooftile {

struct Instance {
  vk::raii::Context context;
  vk::raii::Instance handle;
  vk::raii::DebugUtilsMessengerEXT messenger;  ///< Null unless validation was requested.
  std::string note;  ///< Errors of the loader: drivers that it could not open.
};

/// Returns the instance. The first call creates it; a failure is not remembered, so that a driver
/// installed later is found. The instance is never destroyed, because drivers and layers tear
/// themselves down in exit handlers whose order is not defined, and calling into them afterwards
/// crashes. Thread-safe. Throws kDevice without a loader or a driver, and in a process forked from
/// one that had created the instance, because the driver's threads did not survive the fork.
Instance& shared_instance();

}  // namespace rooftile
