// What the device tier of a context has done so far.
#pragma once

#include <cstdint>
#include <string>

namespace rooftile {

/// For reports and tests.
struct DeviceTierState {
  bool opened = false;
  bool lost = false;
  std::string last_failure;   ///< Message of the last kernel that failed and is not used any more.
  std::uint64_t imports = 0;  ///< Operands whose memory was imported instead of staged.
  std::uint64_t staging_bytes = 0;       ///< Staging memory that is held now.
  std::uint64_t most_staging_bytes = 0;  ///< The most that was in use at once.
};

}  // namespace rooftile
