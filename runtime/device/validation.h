// Collecting what the loader and the validation layers say. Private to runtime/device; tests read
// the messages through validation_messages() in device.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/vulkan.h"

namespace rooftile {

inline constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

/// ROOFTILE_VALIDATION is set to something other than "" and "0".
bool validation_requested();

/// Keeps the message for validation_messages() and prints it to stderr.
void add_validation_message(std::string_view message);

/// What a debug messenger needs to feed validation_messages() (validation errors and warnings) and,
/// where loader_errors is given, the loader's own errors, such as a driver that cannot be opened.
/// loader_errors must outlive the messenger.
vk::DebugUtilsMessengerCreateInfoEXT messenger_info(std::vector<std::string>* loader_errors);

}  // namespace rooftile
