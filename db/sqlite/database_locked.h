// The error for a tuning database that another process keeps locked.
#pragma once

#include "core/error.h"

namespace rooftile {

/// The file is sound: the same call may succeed later.
class DatabaseLocked : public Error {
 public:
  explicit DatabaseLocked(const std::string& message) : Error(ErrorCode::kDatabase, message) {}
};

}  // namespace rooftile
