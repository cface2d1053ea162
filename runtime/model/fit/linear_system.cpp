#include "runtime/model/fit/linear_system.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rooftile {

void solve(std::vector<double>& matrix, std::vector<double>& x, std::size_t columns) {
  const std::size_t n = x.size() / columns;
  const auto row = [](std::vector<double>& of, std::size_t i, std::size_t width) {
    return of.begin() + static_cast<std::ptrdiff_t>(i * width);
  };
  const auto subtract = [&](std::size_t from, std::size_t other, double scale) {
    for (std::size_t c = 0; c < columns; ++c)
      x[from * columns + c] -= scale * x[other * columns + c];
  };
  for (std::size_t pivot = 0; pivot < n; ++pivot) {
    std::size_t largest = pivot;
    for (std::size_t i = pivot + 1; i < n; ++i)
      if (std::abs(matrix[i * n + pivot]) > std::abs(matrix[largest * n + pivot])) largest = i;
    if (largest != pivot) {
      std::swap_ranges(row(matrix, pivot, n), row(matrix, pivot + 1, n), row(matrix, largest, n));
      std::swap_ranges(row(x, pivot, columns), row(x, pivot + 1, columns),
                       row(x, largest, columns));
    }
    for (std::size_t i = pivot + 1; i < n; ++i) {
      const double scale = matrix[i * n + pivot] / matrix[pivot * n + pivot];
      for (std::size_t j = pivot; j < n; ++j) matrix[i * n + j] -= scale * matrix[pivot * n + j];
      subtract(i, pivot, scale);
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) subtract(i, j, matrix[i * n + j]);
    for (std::size_t c = 0; c < columns; ++c) x[i * columns + c] /= matrix[i * n + i];
  }
}

}  // namespace rooftile
