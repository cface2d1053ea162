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

}  // namespace

template <typename Real>
void narrow_matrix(DataType type, Extent extent, const Real* from, std::int64_t ld_from, void* to,
                   std::int64_t ld_to) {
  parallel_ranges(extent.rows, rows_per_thread(extent.columns),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row)
                      narrow(type, from + row * ld_from,
                             static_cast<char*>(to) + row * ld_to * bytes_of(type), extent.columns);
                  });
}
template void narrow_matrix(DataType, Extent, const float*, std::int64_t, void*, std::int64_t);
template void narrow_matrix(DataType, Extent, const double*, std::int64_t, void*, std::int64_t);

template <typename Real>
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, Real* to,
                std::int64_t ld_to, HostThreads threads) {
  const std::int64_t grain =
      threads == HostThreads::kOne ? extent.rows : rows_per_thread(extent.columns);
  parallel_ranges(extent.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      widen(type, static_cast<const char*>(from) + row * ld_from * bytes_of(type), to + row * ld_to,
            extent.columns);
  });
}
template void widen_rows(DataType, Extent, const void*, std::int64_t, float*, std::int64_t,
                         HostThreads);
template void widen_rows(DataType, Extent, const void*, std::int64_t, double*, std::int64_t,
                         HostThreads);

template <typename Real>
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, Real* to) {
  parallel_ranges(p.n, rows_per_thread(p.k), [&](std::int64_t begin, std::int64_t end) {
    dequantize(p, b, begin, end, to + begin * p.k, p.k);
  });
}
template void dequantize_matrix(const Problem&, const QuantizedOperand&, float*);
template void dequantize_matrix(const Problem&, const QuantizedOperand&, double*);

}  // namespace rooftile
