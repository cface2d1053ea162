// Messages of the Khronos validation layer.
#pragma once

#include <string>
#include <vector>

namespace rooftile {

/// Returns the messages. With ROOFTILE_VALIDATION=1 in the environment at the first use, the
/// Khronos validation layer (core and synchronisation checks) checks every call; its messages go to
/// stderr and into this list. A missing layer is reported as a message, too.
std::vector<std::string> validation_messages();
/// Returns the messages and clears the list.
std::vector<std::string> take_validation_messages();

}  // namespace rooftile
