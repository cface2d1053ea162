#pragma once

#include <string>

namespace rooftile {

/// "812 ns", "43.1 us", "6.20 ms", "1.40 s".
std::string time_text(double ns);

}  // namespace rooftile
