#include "runtime/blas/engine.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "runtime/blas/environment.h"
#include "runtime/blas/float64_sums.h"
#include "runtime/support/said_once.h"

namespace rooftile::blas {
namespace {

/// librooftile.so's C ABI. It is loaded by name and not linked, so that a program that runs with
/// the drop-in preloaded gets its libraries and their symbols only when it multiplies.
struct Runtime {
  decltype(&rooftile_open) open;
  decltype(&rooftile_flush) flush;
  decltype(&rooftile_gemm) gemm;
  decltype(&rooftile_explain_gemm) explain_gemm;
  decltype(&rooftile_last_error) last_error;
  void (*share_warnings)(void*);
};

enum class State { kUnopened, kOpening, kOpen, kHostOnly };

pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
// Guarded by the lock until `state` says that they are initialised.
Runtime runtime;
rooftile_context* context;
bool device_is_tuned;  // for whatever types
std::atomic<State> state = State::kUnopened;
// Generation of the context: a forked child opens a context of its own.
std::atomic<std::uint32_t> generation = 1;

SaidOnce* said = nullptr;

__attribute__((constructor)) void share_with_forked_children() { said = SaidOnce::make(); }

/// Prints one warning per process and its children, whatever the subject.
void warn(const char* what, const char* why) {
  const char* const log = ::secure_getenv("ROOFTILE_LOG");
  if ((said != nullptr && !said->first("drop-in")) ||
      (log != nullptr && std::strcmp(log, "off") == 0))
    return;
  std::fprintf(stderr, "rooftile: %s: %s; %s computes instead%s\n", what, why, real_blas().name,
               sums_in_float64() ? ", in float64" : "");
}

/// Loads librooftile.so from this library's folder, or one folder up, else from the loader's path.
void* load_runtime() {
  static constexpr char kName[] = "librooftile.so." ROOFTILE_SOVERSION;
  Dl_info own;
  char folder[PATH_MAX];
  // A library that is installed as an alternative is reached through links.
  if (dladdr(&runtime, &own) != 0 && realpath(own.dli_fname, folder) != nullptr) {
    for (int up = 0; up < 2; ++up) {
      char* const slash = std::strrchr(folder, '/');
      if (slash == nullptr) break;
      *slash = '\0';
      char path[PATH_MAX + sizeof kName + 1];
      std::snprintf(path, sizeof path, "%s/%s", folder, kName);
      if (void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return handle;
    }
  }
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

template <typename Function>
bool load(void* handle, const char* symbol, Function& target) {
  target = reinterpret_cast<Function>(dlsym(handle, symbol));
  return target != nullptr;
}

const char* error_of_loader() {
  const char* const why = dlerror();
  return why != nullptr ? why : "cannot be loaded";
}

void* write_counts(void*) {
  runtime.flush(context);
  return nullptr;
}

/// Writes the counts at exit. Closing the context would tear down the device, whose driver may be
/// gone already. A new thread does this, because the thread-local data of the thread that calls
/// exit is gone too.
void write_counts_at_exit() {
  pthread_t writer;
  if (state.load() == State::kOpen && pthread_create(&writer, nullptr, write_counts, nullptr) == 0)
    pthread_join(writer, nullptr);
}

/// Resets the state in a forked child. The parent's context is abandoned: its locks may be held,
/// and its threads do not exist here. If another thread was opening the context, locks of the
/// runtime and the loader may be held too, and nothing can be opened any more. (A fork does not
/// wait for the opening, which may itself register fork handlers.)
void begin_anew() {
  opening = PTHREAD_MUTEX_INITIALIZER;
  context = nullptr;
  state.store(state.load() == State::kOpening ? State::kHostOnly : State::kUnopened);
  generation.fetch_add(1);
}

template <typename Real>
rooftile_gemm_args gemm_args(const Gemm<Real>& g) {
  const auto transpose = [](char t) {
    return t == 'N' ? ROOFTILE_NO_TRANSPOSE : ROOFTILE_TRANSPOSE;
  };
  constexpr rooftile_type kType = kIsFloat32<Real> ? ROOFTILE_F32 : ROOFTILE_F64;
  rooftile_gemm_args args = {.struct_size = sizeof args,
                             .type = kType,
                             .type_c = kType,
                             .layout = ROOFTILE_COLUMN_MAJOR,
                             .trans_a = transpose(g.trans_a),
                             .trans_b = transpose(g.trans_b),
                             .m = g.m,
                             .n = g.n,
                             .k = g.k,
                             .batch = 1,
                             .a = g.a,
                             .b = g.b,
                             .c = g.c,
                             .lda = g.lda,
                             .ldb = g.ldb,
                             .ldc = g.ldc,
                             .tier = ROOFTILE_TIER_AUTO};
  if constexpr (kIsFloat32<Real>)
    args.alpha = g.alpha, args.beta = g.beta;
  else
    args.alpha_f64 = g.alpha, args.beta_f64 = g.beta;
  return args;
}

template <typename Real>
bool explain(const Gemm<Real>& g, rooftile_decision& decision) {
  const rooftile_gemm_args args = gemm_args(g);
  decision.struct_size = sizeof decision;
  return runtime.explain_gemm(context, &args, &decision) == ROOFTILE_OK;
}

/// Opens the context. The caller holds the lock.
State open() {
  // Loads once: in a forked child another thread may have held the loader's locks.
  static void* handle = nullptr;
  if (handle == nullptr) handle = load_runtime();
  if (handle == nullptr || !load(handle, "rooftile_open", runtime.open) ||
      !load(handle, "rooftile_flush", runtime.flush) ||
      !load(handle, "rooftile_gemm", runtime.gemm) ||
      !load(handle, "rooftile_explain_gemm", runtime.explain_gemm) ||
      !load(handle, "rooftile_last_error", runtime.last_error) ||
      !load(handle, "rooftile_share_warnings", runtime.share_warnings)) {
    warn("librooftile.so cannot be used", error_of_loader());
    return State::kHostOnly;
  }
  runtime.share_warnings(said);
  if (runtime.open(nullptr, &context) != ROOFTILE_OK) {
    warn("Rooftile cannot be opened", runtime.last_error());
    return State::kHostOnly;
  }
  rooftile_decision decision;
  const Gemm<float> any = {.trans_a = 'N',
                           .trans_b = 'N',
                           .m = 1024,
                           .n = 1024,
                           .k = 1024,
                           .alpha = 1,
                           .lda = 1024,
                           .ldb = 1024,
                           .ldc = 1024};
  device_is_tuned = explain(any, decision) && *decision.device != '\0';
  // Registered after the runtime is loaded: handlers run in reverse order, and the runtime's own
  // objects must still exist when this one runs.
  static bool registered = false;
  if (!registered) registered = std::atexit(write_counts_at_exit) == 0;
  return State::kOpen;
}

void register_fork_handler() { pthread_atfork(nullptr, nullptr, begin_anew); }

/// Returns whether there is a context, and opens one if necessary.
bool opened() {
  State now = state.load(std::memory_order_acquire);
  if (now == State::kUnopened || now == State::kOpening) {
    // Registered before the lock is taken, because a child that is forked while the lock is held
    // would wait forever.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handler);
    real_blas();  // The same library serves both; a process without one ends here.
    pthread_mutex_lock(&opening);
    now = state.load();
    if (now == State::kUnopened) {
      state.store(State::kOpening);
      now = open();
      state.store(now, std::memory_order_release);
    }
    pthread_mutex_unlock(&opening);
  }
  return now == State::kOpen;
}

template <typename Real>
bool is_worth_asking(double flops) {
  // Sums of float64 operands are float64 in every precision.
  const bool always = wanted_tier() != WantedTier::kAuto ||
                      (kIsFloat32<Real> && wanted_precision() != WantedPrecision::kStandard);
  return (flops >= kLeastFlops || always) && opened();
}

/// Returns false where the underlying BLAS has to compute the call. It then also defines the result
/// for overlapping operands.
bool is_done(rooftile_status status) {
  if (status == ROOFTILE_OK) return true;
  if (status != ROOFTILE_INVALID_ARGUMENT) warn("a GEMM fails", runtime.last_error());
  return false;
}

template <typename Real>
bool reads_a_and_b(const Gemm<Real>& g) {
  return g.m > 0 && g.n > 0 && g.k > 0 && g.alpha != 0;
}

template <typename Real>
void run_on_real(const Gemm<Real>& g) {
  if constexpr (kIsFloat32<Real>)
    if (sums_in_float64() && reads_a_and_b(g) && gemm_in_float64(g)) return;
  // With alpha 0 OpenBLAS 0.3.21 may read A and B (runtime/host/host_blas.cpp); with k 0 no library
  // does.
  Gemm<Real> read = g;
  if (g.alpha == 0) read.k = 0;
  multiply(real_routines<Real>(), read);
}

/// Cache of a thread's last results of runs_on_device, because a query takes microseconds.
struct Answer {
  char trans_a, trans_b;
  Int m, n, k;
  std::uint32_t generation;  // 0: empty.
  bool device;

  template <typename Real>
  bool is_of(const Gemm<Real>& g) const {
    return trans_a == g.trans_a && trans_b == g.trans_b && m == g.m && n == g.n && k == g.k &&
           generation == blas::generation.load(std::memory_order_relaxed);
  }
};
constexpr std::size_t kAnswers = 64;

template <typename Real>
Answer& answer_slot(const Gemm<Real>& g) {
  static thread_local Answer answers[kAnswers];
  std::uint64_t h = static_cast<std::uint64_t>(g.m);
  for (const Int x : {g.n, g.k}) h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
  return answers[(h ^ (h >> 32)) % kAnswers];
}

}  // namespace

bool keeps_on_host() {
  if (!sums_in_float64()) return false;
  if (wanted_tier() == WantedTier::kDevice)
    warn("ROOFTILE_TIER is device", "routines other than sgemm have float64 sums on the host only");
  return true;
}

template <typename Real>
void run(const Gemm<Real>& g) {
  if (reads_a_and_b(g) && is_worth_asking<Real>(flops(g))) {
    const rooftile_gemm_args args = gemm_args(g);
    if (is_done(runtime.gemm(context, &args))) return;
  }
  run_on_real(g);
}

template <typename Real>
void run(const GemmBatch<Real>& x) {
  if (x.batch > 0 && reads_a_and_b(x.gemm) && is_worth_asking<Real>(flops(x.gemm) * x.batch)) {
    rooftile_gemm_args args = gemm_args(x.gemm);
    args.batch = x.batch;
    args.stride_a = x.stride_a;
    args.stride_b = x.stride_b;
    args.stride_c = x.stride_c;
    args.a_array = reinterpret_cast<const void* const*>(x.a_array);
    args.b_array = reinterpret_cast<const void* const*>(x.b_array);
    args.c_array = reinterpret_cast<void* const*>(x.c_array);
    if (is_done(runtime.gemm(context, &args))) return;
  }
  for (std::ptrdiff_t i = 0; i < x.batch; ++i) {
    Gemm<Real> g = x.gemm;
    g.a = x.a_array != nullptr ? x.a_array[i] : g.a + i * x.stride_a;
    g.b = x.b_array != nullptr ? x.b_array[i] : g.b + i * x.stride_b;
    g.c = x.c_array != nullptr ? x.c_array[i] : g.c + i * x.stride_c;
    run_on_real(g);
  }
}

template <typename Real>
bool runs_on_device(const Gemm<Real>& g) {
  if (!reads_a_and_b(g) || !is_worth_asking<Real>(flops(g)) || !device_is_tuned) return false;
  Answer& answer = answer_slot(g);
  if (!answer.is_of(g)) {
    rooftile_decision decision;
    const bool device = explain(g, decision) && decision.tier == ROOFTILE_TIER_DEVICE;
    answer = {g.trans_a, g.trans_b, g.m, g.n, g.k, generation.load(), device};
  }
  return answer.device;
}

template void run(const Gemm<float>& gemm);
template void run(const GemmBatch<float>& batch);
template bool runs_on_device(const Gemm<float>& gemm);
template void run(const Gemm<double>& gemm);
template void run(const GemmBatch<double>& batch);
template bool runs_on_device(const Gemm<double>& gemm);

}  // namespace rooftile::blas
