// Short names of the two transposes, for tests that run over them.
#pragma once

#include "core/problem.h"

namespace rooftile {

inline constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;

}  // namespace rooftile
