// Somebody else keeps the tuning database locked.
#pragma once

#include "core/error.h"

namespace rooftile {

/// Nothing is wrong with the file: the same may succeed later.
class DatabaseLocked : public Error {
 public:
  explicit DatabaseLocked(const std::string& message) : Error(ErrorCode::kDatabase, message) {}
};

}  // namespace rooftile
