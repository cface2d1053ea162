#include "runtime/device/physical/error_translation.h"

namespace rooftile {

void throw_translated(const vk::SystemError& error, std::string_view doing, ErrorCode otherwise) {
  switch (static_cast<vk::Result>(error.code().value())) {
    case vk::Result::eErrorOutOfHostMemory:
    case vk::Result::eErrorOutOfDeviceMemory:
    case vk::Result::eErrorOutOfPoolMemory:
    case vk::Result::eErrorFragmentedPool:
    case vk::Result::eErrorTooManyObjects:
      fail(ErrorCode::kOutOfMemory,
           "{}: the driver ran out of memory or objects ({}); free buffers or use smaller ones",
           doing, error.what());
    case vk::Result::eErrorDeviceLost:
      fail(ErrorCode::kDevice, "{}: the device is lost ({}); close it and open it again", doing,
           error.what());
    default:
      fail(otherwise, "{}: the driver failed ({})", doing, error.what());
  }
}

}  // namespace rooftile
