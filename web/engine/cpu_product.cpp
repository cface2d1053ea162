#include "web/engine/cpu_product.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/numbers/random.h"

namespace rooftile::web {
namespace {

// A block of sums in registers, and steps of k whose part of B stays in the cache.
constexpr int kRows = 4, kColumns = 8, kDepth = 256;

std::size_t at(int row, int column, int ld) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(ld) +
         static_cast<std::size_t>(column);
}

/// Adds a whole block of C; b is packed: kColumns values for each step of k.
void add_block(const float* a, int lda, const float* b, float* c, int ldc, int depth) {
  float sums[kRows][kColumns] = {};
  for (int step = 0; step < depth; ++step)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j)
        sums[i][j] += a[at(i, step, lda)] * b[at(step, j, kColumns)];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) c[at(i, j, ldc)] += sums[i][j];
}

}  // namespace

float cpu_product(int m, int n, int k) {
  // Whole blocks, because only time is asked for: at most 3 rows and 7 columns more.
  const int rows = (m + kRows - 1) / kRows * kRows,
            columns = (n + kColumns - 1) / kColumns * kColumns;
  static std::vector<float> a, b, c, packed;
  const auto fill = [](std::vector<float>& values, std::size_t size) {
    if (values.size() == size) return;
    Random random(size);
    values.resize(size);
    for (float& value : values) value = random.symmetric();
  };
  fill(a, at(rows, 0, k));
  fill(b, at(k, 0, columns));
  c.assign(at(rows, 0, columns), 0.0f);
  packed.resize(at(kDepth, 0, kColumns));
  for (int first = 0; first < k; first += kDepth) {
    const int depth = std::min(kDepth, k - first);
    for (int j = 0; j < columns; j += kColumns) {
      for (int step = 0; step < depth; ++step)
        std::copy_n(&b[at(first + step, j, columns)], kColumns, &packed[at(step, 0, kColumns)]);
      for (int i = 0; i < rows; i += kRows)
        add_block(&a[at(i, first, k)], k, packed.data(), &c[at(i, j, columns)], columns, depth);
    }
  }
  float sum = 0;
  for (const float value : c) sum += value;
  return sum;
}

}  // namespace rooftile::web
