#include "core/time_text.h"

#include <fmt/format.h>

namespace rooftile {

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns * 1e-3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns * 1e-6);
  return fmt::format("{:.2f} s", ns * 1e-9);
}

}  // namespace rooftile
