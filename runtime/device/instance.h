// The process's one VkInstance. Private to runtime/device.
#pragma once

#include <string>

#include "runtime/device/vulkan.h"

namespace rooftile {

struct Instance {
  vk::raii::Context context;
  vk::raii::Instance handle;
  vk::raii::DebugUtilsMessengerEXT messenger;  // null unless validation was asked for
  std::string note;  // errors of the loader: drivers that it could not open
};

/// Creates the instance at the first call; a failure is not remembered, so that a driver installed
/// later is found. It lives until the process ends and is never destroyed: drivers and layers tear
/// themselves down in exit handlers whose order nobody controls, and calling into them afterwards
/// is a well-known crash. Thread-safe. Throws kDevice without a loader or a driver, and in a
/// process forked from one that had made the instance: the driver's threads did not survive the
/// fork.
Instance& shared_instance();

}  // namespace rooftile
