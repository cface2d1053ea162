// Warning about a cache folder in which nothing can be stored.
#pragma once

namespace rooftile {

class Device;

/// Reports on stderr what is wrong with the device's pipeline cache file, if anything is. The line
/// appears once per process and folder, shared with the warnings of the shader cache.
void say_cache_fault(const Device& device);

}  // namespace rooftile
