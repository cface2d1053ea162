// A cache folder that does not keep what it is for.
#pragma once

namespace rooftile {

class Device;

/// Says on stderr what is wrong with the device's pipeline cache file, if anything is: once a
/// process for its folder, whatever the shader cache has to say of that included.
void say_cache_fault(const Device& device);

}  // namespace rooftile
