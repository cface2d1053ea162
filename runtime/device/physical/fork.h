// Vulkan cannot be used in a process that was forked from one that has used it.
#pragma once

namespace rooftile {

/// Whether this process is such a child.
bool forked_after_use();

/// Throws kDevice, saying so, where it is.
void check_not_forked();

}  // namespace rooftile
