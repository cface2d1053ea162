#include "runtime/host/host_epilogue.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "core/half.h"
#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

constexpr std::int64_t kElementsPerThread = 1 << 17;  // Less work is not worth starting a thread.
constexpr std::int64_t kChunk = 1024;  // Elements of a row that pass through all steps together.

/// Element: of the epilogue's operands.
template <typename Real, typename Element>
class Pass {
 public:
  Pass(const Problem& p, const EpilogueOperands& x, std::int64_t i, Real* sums,
       std::int64_t ld_sums, void* c)
      : p_(p), x_(x), i_(i), sums_(sums), ld_sums_(ld_sums), c_(static_cast<char*>(c)) {}

  void rows(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t first = 0; first < p_.n; first += kChunk) {
        const std::int64_t count = std::min(kChunk, p_.n - first);
        Real* const y = sums_ + row * ld_sums_ + first;
        char* const c = c_ + (row * p_.ldc + first) * bytes_of(p_.types.c);
        finish(y, count, row, first, c);
        if (static_cast<void*>(y) != c) narrow(p_.types.c, y, c, count);
      }
  }

 private:
  static const Element* elements(const void* x) { return static_cast<const Element*>(x); }

  /// The steps of apply() (core/epilogue.h), each for all elements.
  void finish(Real* y, std::int64_t count, std::int64_t row, std::int64_t first,
              const char* c) const {
    const Epilogue& e = p_.epilogue;
    const auto each = [&](const auto& step) {
      for (std::int64_t j = 0; j < count; ++j) y[j] = step(y[j], j);
    };
    if (e.row_scale)
      each([scale = Real(elements(x_.row_scale)[row])](Real x, std::int64_t) { return x * scale; });
    if (e.column_scale)
      each([scale = elements(x_.column_scale) + first](Real x, std::int64_t j) {
        return x * scale[j];
      });
    if (p_.beta != 0) {
      std::array<Real, kChunk> old;
      widen(p_.types.c, c, old.data(), count);
      each([&old, beta = Real(p_.beta)](Real x, std::int64_t j) {
        return x + beta * old[static_cast<std::size_t>(j)];
      });
    }
    if (e.bias == Bias::kRow)
      each([bias = Real(elements(x_.bias)[row])](Real x, std::int64_t) { return x + bias; });
    if (e.bias == Bias::kColumn)
      each([bias = elements(x_.bias) + first](Real x, std::int64_t j) { return x + bias[j]; });
    if (e.activation == Activation::kRelu)  // which is known here, so that it is vectorised
      each([](Real x, std::int64_t) { return activate(Activation::kRelu, x); });
    else if (e.activation != Activation::kNone)
      each([kind = e.activation](Real x, std::int64_t) { return activate(kind, x); });
    if (e.residual)
      each([residual = elements(x_.residual) + i_ * x_.stride_residual + row * x_.ld_residual +
                       first](Real x, std::int64_t j) { return x + residual[j]; });
    if (e.clamp)
      each([low = Real(e.low), high = Real(e.high)](Real x, std::int64_t) {
        return x < low ? low : x > high ? high : x;
      });
  }

  const Problem& p_;
  const EpilogueOperands& x_;
  std::int64_t i_;
  Real* sums_;
  std::int64_t ld_sums_;
  char* c_;
};

}  // namespace

template <typename Real>
void apply_epilogue(const Problem& p, const EpilogueOperands& operands, std::int64_t i, Real* sums,
                    std::int64_t ld_sums, void* c) {
  if (p.n == 1 && p.m > 1 && ld_sums == 1 && p.ldc == 1 &&
      (!p.epilogue.residual || operands.ld_residual == 1)) {
    // A column is passed over as a row, which takes half of the time.
    Problem row = p;
    std::swap(row.m, row.n);
    row.epilogue = transposed(p.epilogue);
    EpilogueOperands of_row = operands;
    std::swap(of_row.row_scale, of_row.column_scale);
    return apply_epilogue(row, of_row, i, sums, row.n, c);
  }
  const std::int64_t rows_per_thread = kElementsPerThread / std::max<std::int64_t>(p.n, 1) + 1;
  const auto run = [&](const auto& pass) {
    parallel_ranges(p.m, rows_per_thread,
                    [&pass](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
  };
  if constexpr (std::is_same_v<Real, double>)
    if (is_float64(p.types)) return run(Pass<double, double>(p, operands, i, sums, ld_sums, c));
  run(Pass<Real, float>(p, operands, i, sums, ld_sums, c));
}
template void apply_epilogue(const Problem&, const EpilogueOperands&, std::int64_t, float*,
                             std::int64_t, void*);
template void apply_epilogue(const Problem&, const EpilogueOperands&, std::int64_t, double*,
                             std::int64_t, void*);

bool residual_is_c(const GemmCall& call) {
  const Problem& p = call.problem;
  if (!p.epilogue.residual || p.types.c != epilogue_type(p.types)) return false;
  for (std::int64_t i = 0; i < p.batch; ++i)
    if (call.residual_of(i) == call.c_of(i)) return true;
  return false;
}

}  // namespace rooftile
