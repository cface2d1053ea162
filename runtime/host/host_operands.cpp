#include "runtime/host/host_operands.h"

#include <algorithm>

#include "core/half.h"
#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

constexpr std::int64_t kConvertedPerThread = 1 << 18;  // Less work is not worth starting a thread.

std::int64_t rows_per_thread(std::int64_t columns) {
  return kConvertedPerThread / std::max<std::int64_t>(columns, 1) + 1;
}

template <typename Real>
void widen_each_row(DataType type, Extent extent, const void* from, std::int64_t ld_from, Real* to,
                    std::int64_t ld_to) {
  parallel_ranges(extent.rows, rows_per_thread(extent.columns),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row)
                      widen(type, static_cast<const char*>(from) + row * ld_from * bytes_of(type),
                            to + row * ld_to, extent.columns);
                  });
}

template <typename Real>
void dequantize_all(const Problem& p, const QuantizedOperand& b, Real* to) {
  parallel_ranges(p.n, rows_per_thread(p.k), [&](std::int64_t begin, std::int64_t end) {
    dequantize(p, b, begin, end, to + begin * p.k, p.k);
  });
}

}  // namespace

std::unique_ptr<float[]> uninitialized_floats(std::int64_t elements) {
  return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(elements));
}

std::unique_ptr<double[]> uninitialized_doubles(std::int64_t elements) {
  return std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(elements));
}

void widen_matrix(DataType type, Extent extent, std::int64_t ld, const void* from, float* to) {
  parallel_ranges(span_elements(extent, ld), kConvertedPerThread,
                  [&](std::int64_t begin, std::int64_t end) {
                    widen(type, static_cast<const char*>(from) + begin * bytes_of(type), to + begin,
                          end - begin);
                  });
}

void narrow_matrix(DataType type, Extent extent, const float* from, std::int64_t ld_from, void* to,
                   std::int64_t ld_to) {
  parallel_ranges(extent.rows, rows_per_thread(extent.columns),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row)
                      narrow(type, from + row * ld_from,
                             static_cast<char*>(to) + row * ld_to * bytes_of(type), extent.columns);
                  });
}

void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, float* to,
                std::int64_t ld_to) {
  widen_each_row(type, extent, from, ld_from, to, ld_to);
}

void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, double* to,
                std::int64_t ld_to) {
  widen_each_row(type, extent, from, ld_from, to, ld_to);
}

void dequantize_matrix(const Problem& p, const QuantizedOperand& b, float* to) {
  dequantize_all(p, b, to);
}

void dequantize_matrix(const Problem& p, const QuantizedOperand& b, double* to) {
  dequantize_all(p, b, to);
}

}  // namespace rooftile
