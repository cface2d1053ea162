#include "runtime/host_tier.h"

#include <memory>
#include <new>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "runtime/host_epilogue.h"
#include "runtime/parallel.h"

namespace rooftile {
namespace {

bool residual_is_c(const SgemmCall& call) {
  for (std::int64_t i = 0; i < call.problem.batch; ++i)
    if (call.epilogue.residual + i * call.epilogue.stride_residual == call.c_of(i)) return true;
  return false;
}

/// One operand of a batch as float32: as it lies there, or as a widened copy of its span.
class WideOperand {
 public:
  WideOperand(DataType type, Extent extent, std::int64_t ld)
      : type_(type), elements_(type == DataType::kF32 ? 0 : span_elements(extent, ld)) {
    // Not std::vector: zeroing it would cost as much as widening.
    if (elements_ > 0)
      copy_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(elements_));
  }
  const float* of(const void* matrix) {
    if (type_ == DataType::kF32) return static_cast<const float*>(matrix);
    if (matrix != widened_)
      parallel_ranges(elements_, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
        widen(type_, static_cast<const char*>(matrix) + begin * bytes_of(type_),
              copy_.get() + begin, end - begin);
      });
    widened_ = matrix;
    return copy_.get();
  }

 private:
  static constexpr std::int64_t kElementsPerThread = 1 << 18;  // less is not worth starting one
  DataType type_;
  std::int64_t elements_;
  const void* widened_ = nullptr;
  std::unique_ptr<float[]> copy_;
};

}  // namespace

void run_on_host(const HostBlas& blas, const SgemmCall& call, Tier tier) try {
  const Problem& p = call.problem;
  Problem one = one_product(p);
  one.type = DataType::kF32;
  // Scales come before beta * C, so BLAS must not add C; and a residual that is C must outlive it.
  const bool apart =
      any(p.epilogue) && (p.beta != 0.0f || (p.epilogue.residual && residual_is_c(call)));
  std::vector<float> sums(apart ? static_cast<std::size_t>(p.m * p.n) : 0);
  if (any(p.epilogue)) one.beta = 0.0f;
  if (apart) one.ldc = p.n;
  // Nobody may look at A and B when they do not count.
  const bool reads = p.k > 0 && p.alpha != 0.0f;
  WideOperand a(p.type, reads ? stored_a(p) : Extent{0, 0}, p.lda);
  WideOperand b(p.type, reads ? stored_b(p) : Extent{0, 0}, p.ldb);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    float* const product = apart ? sums.data() : call.c_of(i);
    const float* const wide_a = a.of(call.a_of(i));
    const float* const wide_b = b.of(call.b_of(i));
    if (tier == Tier::kHost64)
      blas.sgemm64(one, wide_a, wide_b, product);
    else
      blas.sgemm(one, wide_a, wide_b, product,
                 tier == Tier::kHost1 ? HostThreads::kOne : HostThreads::kAll);
    if (any(p.epilogue)) apply_epilogue(p, call.epilogue, i, product, one.ldc, call.c_of(i));
  }
} catch (const std::bad_alloc&) {
  fail(ErrorCode::kOutOfMemory, "the copies that {} needs do not fit into memory",
       to_string(call.problem));
}

}  // namespace rooftile
