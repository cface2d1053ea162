// What people are told of a driver. A pure function of values.
#pragma once

#include <cstdint>
#include <string>

namespace rooftile {

/// What the driver says of itself ("Mesa 22.3.6 (LLVM 15.0.6)"). Where it says nothing, its name
/// and its version, packed as Vulkan packs its own: "SwiftShader driver 5.0.0"; without a name
/// "driver 5.0.0".
std::string driver_text(const std::string& name, const std::string& info, std::uint32_t version);

}  // namespace rooftile
