// Text that describes a driver to users. A pure function of values.
#pragma once

#include <cstdint>
#include <string>

namespace rooftile {

/// Returns the driver's own description ("Mesa 22.3.6 (LLVM 15.0.6)"). Without one, returns its
/// name and its version, decoded as Vulkan packs its own versions: "SwiftShader driver 5.0.0";
/// without a name "driver 5.0.0".
std::string driver_text(const std::string& name, const std::string& info, std::uint32_t version);

}  // namespace rooftile
