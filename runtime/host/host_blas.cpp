#include "runtime/host/host_blas.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.h"
#include "runtime/host/host_gemm.h"
#include "runtime/host/host_library.h"

namespace rooftile {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
// Slice of long dimensions: a multiple of every blocking factor in OpenBLAS, and far below 2^31.
constexpr std::int64_t kPanel = std::int64_t{1} << 30;

/// Rows that lie further apart than BLAS counts: slices then have one of them each, for which any
/// ld will do.
bool is_beyond_blas(std::int64_t ld) { return ld > kMaxInt; }
int blas_ld(std::int64_t ld) { return static_cast<int>(std::min(ld, kMaxInt)); }

char trans_letter(Transpose trans) { return trans == Transpose::kYes ? 'T' : 'N'; }

// Offset of op(X)'s element (row, column); a transposed matrix is stored with the two swapped.
std::int64_t at(Transpose trans, std::int64_t row, std::int64_t column, std::int64_t ld) {
  return trans == Transpose::kYes ? column * ld + row : row * ld + column;
}

/// alpha or beta as BLAS takes it. A float32 scalar comes back as it was, without a flag, also
/// where the caller flushes denormal results to zero, as a conversion of a denormal would do.
template <typename Real>
Real scalar(double x) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Real>::min());
  if (sizeof(Real) == sizeof(double) || x == 0 || !(std::fabs(x) < kLeast))
    return static_cast<Real>(x);
  const auto bits = static_cast<std::uint32_t>(std::fabs(x) * 0x1p149);
  return std::bit_cast<float>(bits | (std::signbit(x) ? 0x80000000u : 0u));
}

template <typename Real>
void gemm_in_slices(const GemmRoutines<Real>& blas, const Problem& p, const Real* a, const Real* b,
                    Real* c) {
  const bool turned_a = p.trans_a == Transpose::kYes, turned_b = p.trans_b == Transpose::kYes;
  const bool far_a = is_beyond_blas(p.lda), far_b = is_beyond_blas(p.ldb);
  const auto slice = [](bool one_row) { return one_row ? 1 : kPanel; };
  const std::int64_t rows = slice(is_beyond_blas(p.ldc) || (far_a && !turned_a)),
                     columns = slice(far_b && turned_b),
                     steps = slice((far_a && turned_a) || (far_b && !turned_b));
  // OpenBLAS 0.3.21's kernels for small problems (SkylakeX, Cooperlake) read A and B even when
  // alpha is 0.
  const std::int64_t depth = p.alpha == 0 ? 0 : p.k;
  for (std::int64_t i = 0; i < p.m; i += rows) {
    const int m = static_cast<int>(std::min(rows, p.m - i));
    for (std::int64_t j = 0; j < p.n; j += columns) {
      const int n = static_cast<int>(std::min(columns, p.n - j));
      std::int64_t l = 0;
      do {  // Runs once even for k == 0, because C is still scaled by beta.
        const int k = static_cast<int>(std::min(steps, depth - l));
        const Real beta = l == 0 ? scalar<Real>(p.beta) : Real{1};
        // BLAS is column-major, so A and B are swapped.
        multiply(blas, ColumnMajorGemm<Real>{.trans_a = trans_letter(p.trans_b),
                                             .trans_b = trans_letter(p.trans_a),
                                             .m = n,
                                             .n = m,
                                             .k = k,
                                             .alpha = scalar<Real>(p.alpha),
                                             .a = b + at(p.trans_b, l, j, p.ldb),
                                             .lda = blas_ld(p.ldb),
                                             .b = a + at(p.trans_a, i, l, p.lda),
                                             .ldb = blas_ld(p.lda),
                                             .beta = beta,
                                             .c = c + i * p.ldc + j,
                                             .ldc = blas_ld(p.ldc)});
        l += steps;
      } while (l < depth);
    }
  }
}

template <typename Real>
void multiply_plain(const GemmRoutines<Real>& blas, const PlainCall& call) {
  const PlainProduct& p = call.product;
  const auto *const a = static_cast<const Real*>(call.a), *const b =
                                                              static_cast<const Real*>(call.b);
  auto* const c = static_cast<Real*>(call.c);
  const Real alpha = scalar<Real>(p.alpha), beta = scalar<Real>(p.beta);
  // BLAS is column-major, so A and B are swapped.
  const char trans_a = trans_letter(p.trans_a), trans_b = trans_letter(p.trans_b);
  if (p.m != 1 && p.n != 1) {
    // Most repeated calls come here, and none of their sizes is copied.
    blas.gemm(&trans_b, &trans_a, &p.n, &p.m, &p.k, &alpha, b, &p.ldb, a, &p.lda, &beta, c, &p.ldc,
              1, 1);
    return;
  }
  multiply(blas, ColumnMajorGemm<Real>{.trans_a = trans_b,
                                       .trans_b = trans_a,
                                       .m = p.n,
                                       .n = p.m,
                                       .k = p.k,
                                       .alpha = alpha,
                                       .a = b,
                                       .lda = p.ldb,
                                       .b = a,
                                       .ldb = p.lda,
                                       .beta = beta,
                                       .c = c,
                                       .ldc = p.ldc});
}

}  // namespace

struct HostBlas::Symbols {
  std::string library;
  // CBLAS is not used, because some libraries' cblas_sgemm calls sgemm_ by its global name, which
  // may be the drop-in's, which calls this library again.
  GemmRoutines<float> float32 = {};
  GemmRoutines<double> float64 = {};
  int (*get_threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  int (*set_threads_local)(int) = nullptr;  // OpenBLAS >= 0.3.27; has no effect on other threads.
  char* (*core_name)() = nullptr;
  int all_threads = 1;
  bool has_threads() const { return set_threads != nullptr && all_threads > 1; }

  mutable std::mutex setting;  // Guards set_threads, which is global, and the two members below.
  mutable int one_thread_calls = 0;  // One-thread calls in progress.
  mutable int threads_before = 1;    // Thread count to restore after them.

  /// Resets the state in a forked child, where the other threads no longer exist.
  void forget_other_threads() const {
    if (std::exchange(one_thread_calls, 0) > 0) set_threads(threads_before);
  }
};

namespace {

/// Holds the library to one thread while the object lives.
template <typename Symbols>
class OneThread {
 public:
  explicit OneThread(const Symbols& symbols) : symbols_(symbols) {
    if (symbols_.set_threads_local != nullptr) {
      local_before_ = symbols_.set_threads_local(1);
      return;
    }
    // The setting is global: only the first of several concurrent calls may read the value that is
    // to be restored.
    const std::lock_guard lock(symbols_.setting);
    if (symbols_.one_thread_calls++ > 0) return;
    symbols_.threads_before = symbols_.get_threads();
    symbols_.set_threads(1);
  }
  ~OneThread() {
    if (symbols_.set_threads_local != nullptr) {
      symbols_.set_threads_local(local_before_);
      return;
    }
    const std::lock_guard lock(symbols_.setting);
    if (--symbols_.one_thread_calls == 0) symbols_.set_threads(symbols_.threads_before);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const Symbols& symbols_;
  int local_before_ = 1;
};

template <typename Symbols, typename Call>
void with_threads(const Symbols& symbols, HostThreads threads, const Call& call) {
  std::optional<OneThread<Symbols>> one;
  if (threads == HostThreads::kOne && symbols.has_threads()) one.emplace(symbols);
  call();
}

template <typename Function>
void load(void* handle, const char* symbol, Function& target) {
  target = reinterpret_cast<Function>(dlsym(handle, symbol));
}

}  // namespace

HostBlas::HostBlas() {
  auto symbols = std::make_unique<Symbols>();
  std::string tried;
  const HostLibrary library = open_host_library(
      [&](const char* name, const char* why) { tried += fmt::format("\n  {}: {}", name, why); });
  if (library.handle != nullptr) {
    load(library.handle, "sgemm_", symbols->float32.gemm);
    load(library.handle, "sgemv_", symbols->float32.gemv);
    load(library.handle, "dgemm_", symbols->float64.gemm);
    load(library.handle, "dgemv_", symbols->float64.gemv);
    load(library.handle, "openblas_get_num_threads", symbols->get_threads);
    load(library.handle, "openblas_set_num_threads", symbols->set_threads);
    load(library.handle, "openblas_get_corename", symbols->core_name);
    load(library.handle, "openblas_set_num_threads_local", symbols->set_threads_local);
    symbols->float32.small_kernels = symbols->float64.small_kernels =
        has_small_kernels(library.handle);
    if (symbols->get_threads != nullptr) symbols->all_threads = std::max(1, symbols->get_threads());
    symbols->library = library.name;
    symbols_ = std::move(symbols);
    if (symbols_->set_threads != nullptr)
      ::pthread_atfork([] { get().symbols_->setting.lock(); },
                       [] { get().symbols_->setting.unlock(); },
                       [] {
                         get().symbols_->forget_other_threads();
                         get().symbols_->setting.unlock();
                       });
    return;
  }
  if (const char* const chosen = ::secure_getenv("ROOFTILE_BLAS");
      chosen != nullptr && *chosen != '\0')
    fail(
        ErrorCode::kInvalidArgument,
        "ROOFTILE_BLAS names a library that cannot be used; name a BLAS, or unset the variable for "
        "the machine's own:{}",
        tried);
  fail(ErrorCode::kUnsupported,
       "no BLAS library on this machine; install libopenblas0-pthread or name one in "
       "ROOFTILE_BLAS. Tried:{}",
       tried);
}

const HostBlas& HostBlas::get() {
  // Leaked on purpose, because other libraries' destructors may call BLAS at exit.
  static const HostBlas* const blas = new HostBlas();
  return *blas;
}

void HostBlas::sgemm(const Problem& p, const float* a, const float* b, float* c,
                     HostThreads threads) const {
  with_threads(*symbols_, threads, [&] { gemm_in_slices(symbols_->float32, p, a, b, c); });
}

void HostBlas::dgemm(const Problem& p, const double* a, const double* b, double* c,
                     HostThreads threads) const {
  with_threads(*symbols_, threads, [&] { gemm_in_slices(symbols_->float64, p, a, b, c); });
}

void HostBlas::gemm(const PlainCall& call, HostThreads threads) const {
  with_threads(*symbols_, threads, [&] {
    if (call.product.float64)
      multiply_plain(symbols_->float64, call);
    else
      multiply_plain(symbols_->float32, call);
  });
}

int HostBlas::threads() const { return symbols_->all_threads; }
const std::string& HostBlas::library() const { return symbols_->library; }
std::string HostBlas::core_name() const {
  return symbols_->core_name != nullptr ? symbols_->core_name() : "unknown";
}

}  // namespace rooftile
