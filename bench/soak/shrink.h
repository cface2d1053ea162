// Makes a case that fails smaller.
#pragma once

#include <functional>

#include "bench/soak/soak_case.h"

namespace rooftile {

/// Returns the smallest case found that still fails. Each step is tried by itself: smaller sizes,
/// the least ld, alpha 1, beta 0, no epilogue, and so on. still_fails is asked at most most_trials
/// times.
SoakCase shrunk(SoakCase test, const std::function<bool(const SoakCase&)>& still_fails,
                int most_trials);

}  // namespace rooftile
