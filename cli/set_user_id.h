// Keeps a set-user-ID program from starting programs that its caller chooses.
#pragma once

#include <sys/auxv.h>

#include "core/error.h"

namespace rooftile {

/// Throws kUnsupported in a set-user-ID program: another program would run with the rights of its
/// owner, and the caller says which one.
inline void refuse_set_user_id() {
  if (::getauxval(AT_SECURE) != 0)
    fail(ErrorCode::kUnsupported,
         "a set-user-ID program starts no other program; run a copy without that bit");
}

}  // namespace rooftile
