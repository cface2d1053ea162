#pragma once

#include <vector>

#include "core/problem.h"
#include "tuner/random.h"

namespace rooftile {

/// So many elements, uniform in [-1, 1) and rounded to the type, as they lie in memory.
std::vector<char> random_operand(DataType type, std::int64_t elements, Random& random);

}  // namespace rooftile
