// Vulkan cannot be used in a process that was forked from one that has used it.
#pragma once

namespace rooftile {

/// Whether this process is such a child.
bool forked_after_use();

}  // namespace rooftile
