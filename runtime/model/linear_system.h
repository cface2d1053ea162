#pragma once

#include <cstddef>
#include <vector>

namespace rooftile {

/// Gaussian elimination with partial pivoting of a square, row-major system with one or more
/// right-hand sides, the columns of x (row-major as well). They become the solutions; the matrix is
/// used up.
void solve(std::vector<double>& matrix, std::vector<double>& x, std::size_t columns = 1);

}  // namespace rooftile
