#include "runtime/blas/engine.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/blas/float64.h"
#include "runtime/said_once.h"

namespace rooftile::blas {
namespace {

/// librooftile.so's C ABI. Loaded by name, not linked: a program that is started with the drop-in
/// preloaded gets neither its libraries nor their symbols unless it multiplies.
struct Runtime {
  decltype(&rooftile_open) open;
  decltype(&rooftile_flush) flush;
  decltype(&rooftile_sgemm) sgemm;
  decltype(&rooftile_gemm) gemm;
  decltype(&rooftile_explain) explain;
  decltype(&rooftile_last_error) last_error;
  void (*share_warnings)(void*);
};

enum class State { kUnopened, kOpening, kOpen, kHostOnly };

pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
// Under the lock until state says that they are there.
Runtime runtime;
rooftile_context* context;
bool device_is_tuned;
std::atomic<State> state = State::kUnopened;
std::atomic<std::uint32_t> generation = 1;  // of the context: a forked child opens its own

/// $ROOFTILE_TIER. kOther: host, host1, or a value that the runtime refuses.
enum class Tier { kUnknown, kAuto, kDevice, kHost64, kOther };

Tier tier() {
  static std::atomic<Tier> stored = Tier::kUnknown;
  Tier known = stored.load(std::memory_order_relaxed);
  if (known != Tier::kUnknown) return known;
  const char* const name = std::getenv("ROOFTILE_TIER");
  const auto is = [name](const char* value) { return std::strcmp(name, value) == 0; };
  if (name == nullptr || is("") || is("auto"))
    known = Tier::kAuto;
  else if (is("device"))
    known = Tier::kDevice;
  else
    known = is("host64") ? Tier::kHost64 : Tier::kOther;
  stored.store(known, std::memory_order_relaxed);
  return known;
}

bool tier_is_forced() { return tier() != Tier::kAuto; }

SaidOnce* said = nullptr;

__attribute__((constructor)) void share_with_forked_children() { said = SaidOnce::make(); }

/// Says it once in a process and its children, whatever it is: one line tells where to look.
void warn(const char* what, const char* why) {
  const char* const log = std::getenv("ROOFTILE_LOG");
  if ((said != nullptr && !said->first("drop-in")) ||
      (log != nullptr && std::strcmp(log, "off") == 0))
    return;
  std::fprintf(stderr, "rooftile: %s: %s; %s computes instead%s\n", what, why, real_blas().name,
               sums_in_float64() ? ", in float64" : "");
}

/// librooftile.so beside this library, or a folder up; else where the loader finds it.
void* load_runtime() {
  static constexpr char kName[] = "librooftile.so." ROOFTILE_SOVERSION;
  Dl_info own;
  char folder[PATH_MAX];
  // Installed as an alternative, this library is reached through links.
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

/// Closing would tear down the device, whose driver may be gone already. By a thread of its own:
/// what is thread-local to the one that calls exit is gone, too.
void write_counts_at_exit() {
  pthread_t writer;
  if (state.load() == State::kOpen && pthread_create(&writer, nullptr, write_counts, nullptr) == 0)
    pthread_join(writer, nullptr);
}

/// In a forked child. The parent's context stays behind: its locks may be held, its threads are not
/// here. Where another thread was at opening it, so are locks of the runtime and the loader: there
/// is nothing to open any more. (A fork does not wait for the opening, which may register handlers
/// of forks itself.)
void begin_anew() {
  opening = PTHREAD_MUTEX_INITIALIZER;
  context = nullptr;
  state.store(state.load() == State::kOpening ? State::kHostOnly : State::kUnopened);
  generation.fetch_add(1);
}

rooftile_sgemm_args sgemm_args(const Gemm& g) {
  const auto transpose = [](char t) {
    return t == 'N' ? ROOFTILE_NO_TRANSPOSE : ROOFTILE_TRANSPOSE;
  };
  return {.struct_size = sizeof(rooftile_sgemm_args),
          .layout = ROOFTILE_COLUMN_MAJOR,
          .trans_a = transpose(g.trans_a),
          .trans_b = transpose(g.trans_b),
          .m = g.m,
          .n = g.n,
          .k = g.k,
          .alpha = g.alpha,
          .a = g.a,
          .lda = g.lda,
          .b = g.b,
          .ldb = g.ldb,
          .beta = g.beta,
          .c = g.c,
          .ldc = g.ldc,
          .tier = ROOFTILE_TIER_AUTO};
}

bool explain(const Gemm& g, rooftile_decision& decision) {
  const rooftile_sgemm_args args = sgemm_args(g);
  decision.struct_size = sizeof decision;
  return runtime.explain(context, &args, &decision) == ROOFTILE_OK;
}

/// Under the lock.
State open() {
  // Once: in a forked child the loader's locks may be another thread's.
  static void* handle = nullptr;
  if (handle == nullptr) handle = load_runtime();
  if (handle == nullptr || !load(handle, "rooftile_open", runtime.open) ||
      !load(handle, "rooftile_flush", runtime.flush) ||
      !load(handle, "rooftile_sgemm", runtime.sgemm) ||
      !load(handle, "rooftile_gemm", runtime.gemm) ||
      !load(handle, "rooftile_explain", runtime.explain) ||
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
  const Gemm any = {.trans_a = 'N',
                    .trans_b = 'N',
                    .m = 1024,
                    .n = 1024,
                    .k = 1024,
                    .alpha = 1,
                    .lda = 1024,
                    .ldb = 1024,
                    .ldc = 1024};
  device_is_tuned = explain(any, decision) && *decision.device != '\0';
  // Once the runtime is there: handlers run in reverse, and its own objects must outlive this one.
  static bool registered = false;
  if (!registered) registered = std::atexit(write_counts_at_exit) == 0;
  return State::kOpen;
}

void register_fork_handler() { pthread_atfork(nullptr, nullptr, begin_anew); }

/// Whether there is a context.
bool opened() {
  State now = state.load(std::memory_order_acquire);
  if (now == State::kUnopened || now == State::kOpening) {
    // Before the lock: a child forked while it is held would wait for ever.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handler);
    real_blas();  // the same library serves both, and ends the process where there is none
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

bool is_worth_asking(double flops) {
  const bool always = tier_is_forced() || wanted_precision() != WantedPrecision::kStandard;
  return (flops >= kLeastFlops || always) && opened();
}

/// False: the BLAS underneath is to compute. Overlapping operands are what it makes of them.
bool is_done(rooftile_status status) {
  if (status == ROOFTILE_OK) return true;
  if (status != ROOFTILE_INVALID_ARGUMENT) warn("a product fails", runtime.last_error());
  return false;
}

bool reads_a_and_b(const Gemm& g) { return g.m > 0 && g.n > 0 && g.k > 0 && g.alpha != 0.0f; }

void run_on_real(const Gemm& g) {
  if (sums_in_float64() && reads_a_and_b(g) && gemm_in_float64(g)) return;
  // With alpha 0 OpenBLAS 0.3.21 may read A and B (runtime/host_blas.cpp); without depth none does.
  const Int k = g.alpha == 0 ? 0 : g.k;
  real_blas().sgemm(&g.trans_a, &g.trans_b, &g.m, &g.n, &k, &g.alpha, g.a, &g.lda, g.b, &g.ldb,
                    &g.beta, g.c, &g.ldc, 1, 1);
}

/// A thread's last answers of runs_on_device: asking takes microseconds.
struct Answer {
  char trans_a, trans_b;
  Int m, n, k;
  std::uint32_t generation;  // 0: empty
  bool device;

  bool is_of(const Gemm& g) const {
    return trans_a == g.trans_a && trans_b == g.trans_b && m == g.m && n == g.n && k == g.k &&
           generation == blas::generation.load(std::memory_order_relaxed);
  }
};
constexpr std::size_t kAnswers = 64;

Answer& answer_slot(const Gemm& g) {
  static thread_local Answer answers[kAnswers];
  std::uint64_t h = static_cast<std::uint64_t>(g.m);
  for (const Int x : {g.n, g.k}) h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
  return answers[(h ^ (h >> 32)) % kAnswers];
}

}  // namespace

WantedPrecision wanted_precision() {
  static std::atomic<int> known = -1;
  int wanted = known.load(std::memory_order_relaxed);
  if (wanted >= 0) return static_cast<WantedPrecision>(wanted);
  const char* const name = std::getenv("ROOFTILE_PRECISION");
  const auto is = [name](const char* value) { return std::strcmp(name, value) == 0; };
  auto precision = WantedPrecision::kUnknown;
  if (name == nullptr || is("") || is("relaxed") || is("standard"))
    precision = WantedPrecision::kStandard;
  else if (is("high") || is("exact64"))
    precision = WantedPrecision::kFloat64;
  if (precision == WantedPrecision::kStandard && tier() == Tier::kHost64)
    precision = WantedPrecision::kFloat64;
  known.store(static_cast<int>(precision), std::memory_order_relaxed);
  return precision;
}

bool keeps_on_host() {
  if (!sums_in_float64()) return false;
  if (tier() == Tier::kDevice)
    warn("ROOFTILE_TIER is device", "the precision that is asked for needs float64 sums");
  return true;
}

void run(const Gemm& g) {
  if (reads_a_and_b(g) && is_worth_asking(flops(g))) {
    const rooftile_sgemm_args args = sgemm_args(g);
    if (is_done(runtime.sgemm(context, &args))) return;
  }
  run_on_real(g);
}

void run(const GemmBatch& x) {
  if (x.batch > 0 && reads_a_and_b(x.gemm) && is_worth_asking(flops(x.gemm) * x.batch)) {
    const rooftile_sgemm_args one = sgemm_args(x.gemm);
    const rooftile_gemm_args args = {.struct_size = sizeof args,
                                     .layout = one.layout,
                                     .trans_a = one.trans_a,
                                     .trans_b = one.trans_b,
                                     .m = one.m,
                                     .n = one.n,
                                     .k = one.k,
                                     .batch = x.batch,
                                     .alpha = one.alpha,
                                     .beta = one.beta,
                                     .a = one.a,
                                     .b = one.b,
                                     .c = one.c,
                                     .lda = one.lda,
                                     .ldb = one.ldb,
                                     .ldc = one.ldc,
                                     .stride_a = x.stride_a,
                                     .stride_b = x.stride_b,
                                     .stride_c = x.stride_c,
                                     .a_array = reinterpret_cast<const void* const*>(x.a_array),
                                     .b_array = reinterpret_cast<const void* const*>(x.b_array),
                                     .c_array = reinterpret_cast<void* const*>(x.c_array),
                                     .tier = ROOFTILE_TIER_AUTO};
    if (is_done(runtime.gemm(context, &args))) return;
  }
  for (std::ptrdiff_t i = 0; i < x.batch; ++i) {
    Gemm g = x.gemm;
    g.a = x.a_array != nullptr ? x.a_array[i] : g.a + i * x.stride_a;
    g.b = x.b_array != nullptr ? x.b_array[i] : g.b + i * x.stride_b;
    g.c = x.c_array != nullptr ? x.c_array[i] : g.c + i * x.stride_c;
    run_on_real(g);
  }
}

bool runs_on_device(const Gemm& g) {
  if (!reads_a_and_b(g) || !is_worth_asking(flops(g)) || !device_is_tuned) return false;
  Answer& answer = answer_slot(g);
  if (!answer.is_of(g)) {
    rooftile_decision decision;
    const bool device = explain(g, decision) && decision.tier == ROOFTILE_TIER_DEVICE;
    answer = {g.trans_a, g.trans_b, g.m, g.n, g.k, generation.load(), device};
  }
  return answer.device;
}

}  // namespace rooftile::blas
