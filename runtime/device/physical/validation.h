// Collection of messages of the loader and the validation layers. Private to runtime/device; tests
// read the messages through validation_messages() in device.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/physical/vulkan.h"

namespace rooftile {

inline constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

/// Whether ROOFTILE_VALIDATION is set to something other than "" and "0".
bool validation_requested();

/// Stores the message for validation_messages() and prints it to stderr.
void add_validation_message(std::string_view message);

/// Returns the creation info of a debug messenger that feeds validation_messages() (validation
/// errors and warnings) and, if loader_errors is not null, collects the loader's own errors, such
/// as a driver that cannot be opened. loader_errors must outlive the messenger.
vk::DebugUtilsMessengerCreateInfoEXT messenger_info(std::vector<std::string>* loader_errors);

}  // namespace rooftile
