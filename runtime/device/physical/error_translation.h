// Translation of Vulkan-Hpp's exceptions to rooftile::Error, with the failed action in the message.
// Private to runtime/device.
#pragma once

#include <string_view>
#include <utility>

#include "core/error.h"
#include "runtime/device/physical/vulkan.h"

namespace rooftile {

/// Out-of-memory results become kOutOfMemory, all others `otherwise`.
[[noreturn]] void throw_translated(const vk::SystemError& error, std::string_view doing,
                                   ErrorCode otherwise);

inline bool is_device_lost(const vk::SystemError& error) {
  return error.code() == vk::make_error_code(vk::Result::eErrorDeviceLost);
}

template <typename Call>
decltype(auto) translated(std::string_view doing, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const vk::SystemError& error) {
    throw_translated(error, doing, ErrorCode::kDevice);
  }
}

}  // namespace rooftile
