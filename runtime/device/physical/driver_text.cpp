#include "runtime/device/physical/driver_text.h"

#include <fmt/format.h>

namespace rooftile {

std::string driver_text(const std::string& name, const std::string& info, std::uint32_t version) {
  if (!info.empty()) return info;
  return fmt::format("{} {}.{}.{}", name.empty() ? "driver" : name, version >> 22,
                     version >> 12 & 0x3ff, version & 0xfff);
}

}  // namespace rooftile
