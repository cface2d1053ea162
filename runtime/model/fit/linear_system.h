#pragma once

#include <cstddef>
#include <vector>

namespace rooftile {

/// Solves a square, row-major system with one or more right-hand sides, the columns of x (also
/// row-major), by Gaussian elimination with partial pivoting. x becomes the solutions; the matrix
/// is overwritten.
void solve(std::vector<double>& matrix, std::vector<double>& x, std::size_t columns = 1);

}  // namespace rooftile
