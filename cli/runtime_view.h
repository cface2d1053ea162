#pragma once

#include "report/runtime_view.h"

namespace rooftile {

/// What this program's generator and runtime do.
RuntimeView runtime_view();

}  // namespace rooftile
