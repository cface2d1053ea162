// Finds the machine code of a shader in what NVIDIA's driver writes into a pipeline cache.
#pragma once

#include <string>
#include <string_view>

namespace rooftile {

/// The code of the shader in the data of a pipeline cache that NVIDIA's driver made of this shader
/// alone: instructions of 16 bytes, as `nvdisasm --binary` reads them. Knows what the driver 580
/// writes, and throws kUnsupported, with what is wrong, for all else. Pure.
std::string machine_code(std::string_view cache);

}  // namespace rooftile
