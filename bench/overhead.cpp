// Costs of a call through the runtime: its overhead over the same call into OpenBLAS, the share of
// a cached decision in it, the cost of a decision on a new problem and of counting a call of an
// untuned problem, of adding a product to a list, and the time until a process has an open context
// and its first result from the device. Cached decisions and decisions that involve the device are
// measured inside the library; the rest goes through the C ABI, as in programs.
#include <fmt/format.h>
#include <rooftile/resident.h>
#include <rooftile/rooftile.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/baselines/shared_library.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "db/store.h"
#include "runtime/abi/c_api_plain_call.h"
#include "runtime/dispatch/context.h"
#include "runtime/dispatch/repeated_calls.h"

namespace rooftile::overhead_bench {
namespace {

constexpr int kTiny = 8;  // m, n and k of the GEMM whose overhead is measured
// Calls per round are so many that the clock's cost is negligible.
constexpr int kCalls = 1000, kRounds = 301;
constexpr std::size_t kLayers = 16;  // different GEMMs that a program calls in turn
// Decisions: problems that differ in lda, many more than a thread's plan cache holds.
constexpr int kNewProblems = 1000;
constexpr std::array<std::int64_t, 3> kContended = {503, 521,
                                                    487};  // m, n, k: sizes that are never tuned
constexpr int kUntuned = 80;  // m, n and k of a GEMM that is just large enough to be counted
// Rounds are short, so that many of them are undisturbed.
constexpr int kUntunedCalls = 10, kUntunedRounds = 5001;
constexpr std::int64_t kFirstSize = 512;  // m, n and k of the first result from the device
constexpr int kProcesses = 15;
constexpr int kListed = 64, kListCalls = 200, kLists = 41;  // m, n and k; products of a list

/// The C ABI of librooftile.so, which is opened at run time: calls go into the library, as those of
/// programs do, and not to the copy of it in this program.
struct Library {
  SharedLibrary file{"librooftile.so", {own_file("librooftile.so.0")}, "scripts/build builds it"};
  decltype(rooftile_last_error)* last_error;
  decltype(rooftile_open)* open;
  decltype(rooftile_close)* close;
  decltype(rooftile_sgemm)* sgemm;
  decltype(rooftile_buffer_create)* buffer_create;
  decltype(rooftile_buffer_release)* buffer_release;
  decltype(rooftile_list_create)* list_create;
  decltype(rooftile_list_release)* list_release;
  decltype(rooftile_list_gemm)* list_gemm;
  Library() {
    file.load(last_error, "rooftile_last_error");
    file.load(open, "rooftile_open");
    file.load(close, "rooftile_close");
    file.load(sgemm, "rooftile_sgemm");
    file.load(buffer_create, "rooftile_buffer_create");
    file.load(buffer_release, "rooftile_buffer_release");
    file.load(list_create, "rooftile_list_create");
    file.load(list_release, "rooftile_list_release");
    file.load(list_gemm, "rooftile_list_gemm");
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

void check(rooftile_status status) {
  if (status != ROOFTILE_OK) throw std::runtime_error(library().last_error());
}

struct CloseContext {
  void operator()(rooftile_context* context) const { library().close(context); }
};
using ContextPointer = std::unique_ptr<rooftile_context, CloseContext>;

ContextPointer open_context(const std::string& database, int no_untuned_log = 0) {
  rooftile_options options = {};
  options.struct_size = sizeof options;
  options.no_untuned_log = no_untuned_log;
  options.database_path = database.empty() ? nullptr : database.c_str();
  rooftile_context* context = nullptr;
  check(library().open(&options, &context));
  return ContextPointer(context);
}

rooftile_sgemm_args square(std::int64_t size, const std::vector<float>& a,
                           const std::vector<float>& b, std::vector<float>& c) {
  rooftile_sgemm_args args = {};
  args.struct_size = sizeof args;
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = size;
  args.alpha = 1;
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  return args;
}

using CblasSgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*,
                            int, float, float*, int);

CblasSgemm blas_sgemm() {
  CblasSgemm found;
  SharedLibrary("OpenBLAS", {"libopenblas.so.0"}, "install libopenblas0-pthread")
      .load(found, "cblas_sgemm");
  return found;
}

template <typename Call>
double call_ns(int calls, const Call& call) {
  const double start = now_ns();
  for (int i = 0; i < calls; ++i) call();
  return (now_ns() - start) / calls;
}

/// Makes the same calls through two contexts on a database with an untuned device; one of them
/// counts calls.
void print_counting() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench-overhead-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string database = folder + "/untuned.db";
  DeviceProfile device;
  device.name = "untuned";
  Store(database).device_id(device);
  std::vector<double> difference_ns;
  const auto sgemm = library().sgemm;
  {
    const ContextPointer counting = open_context(database), silent = open_context(database, 1);
    std::vector<float> a(kUntuned * kUntuned, 0.5f), b(kUntuned * kUntuned, 0.25f),
        c(kUntuned * kUntuned, 0.0f);
    const rooftile_sgemm_args args = square(kUntuned, a, b, c);
    const auto round_ns = [&](const ContextPointer& context) {
      // Decides once, because the contexts share a cache.
      check(sgemm(context.get(), &args));
      return call_ns(kUntunedCalls, [&] { check(sgemm(context.get(), &args)); });
    };
    for (int round = 0; round < kUntunedRounds; ++round) {
      const double without = round_ns(silent), with = round_ns(counting);
      difference_ns.push_back(with - without);
    }
  }
  std::filesystem::remove_all(folder);
  fmt::print("{0}x{0}x{0} untuned: counting a call {1:.0f} ns (mad {2:.0f}, {3} rounds of {4})\n",
             kUntuned, median(difference_ns), median_absolute_deviation(difference_ns),
             difference_ns.size(), kUntunedCalls);
}

void print_overhead(const std::string& database) {
  constexpr int kRowMajor = 101, kNoTrans = 111;
  const CblasSgemm direct = blas_sgemm();
  const auto sgemm = library().sgemm;
  const ContextPointer context = open_context(database);
  std::vector<float> a(kTiny * kTiny, 0.5f), b(kTiny * kTiny, 0.25f), c(kTiny * kTiny, 0.0f);
  const rooftile_sgemm_args args = square(kTiny, a, b, c);
  const auto through_blas = [&] {
    direct(kRowMajor, kNoTrans, kNoTrans, kTiny, kTiny, kTiny, 1.0f, a.data(), kTiny, b.data(),
           kTiny, 0.0f, c.data(), kTiny);
  };
  const auto through_rooftile = [&] { check(sgemm(context.get(), &args)); };
  std::vector<double> blas_ns, rooftile_ns, difference_ns;
  for (int round = -1; round < kRounds; ++round) {
    const double blas = call_ns(kCalls, through_blas), ours = call_ns(kCalls, through_rooftile);
    if (round < 0) continue;  // The first round warms up and decides.
    blas_ns.push_back(blas);
    rooftile_ns.push_back(ours);
    difference_ns.push_back(ours - blas);
  }
  fmt::print(
      "{0}x{0}x{0}: OpenBLAS {1:.0f} ns, rooftile_sgemm {2:.0f} ns, overhead {3:.0f} ns (mad "
      "{4:.0f}, {5} rounds of {6})\n",
      kTiny, median(blas_ns), median(rooftile_ns), median(difference_ns),
      median_absolute_deviation(difference_ns), difference_ns.size(), kCalls);
}

/// Time from a call's arguments to its cached tier, including the inspection of operands: the
/// runtime's own work in a known call. Calls of several sizes alternate, as in a program.
void print_known_decision() {
  constexpr std::uint64_t kOwner = 1;
  static thread_local RepeatedCalls calls;
  const std::vector<float> a(kTiny * kTiny), b(kTiny * (kTiny + kLayers));
  std::vector<float> c(kTiny * (kTiny + kLayers));
  std::vector<rooftile_sgemm_args> layers(kLayers, square(kTiny, a, b, c));
  for (std::size_t i = 0; i < kLayers; ++i) {
    layers[i].n = layers[i].ldb = layers[i].ldc = kTiny + static_cast<std::int64_t>(i);
    calls.store(plain_call(&layers[i]).value().product, kOwner, {});
  }
  std::size_t next = 0, found = 0;
  const auto look = [&] {
    const std::optional<PlainCall> call = plain_call(&layers[next++ % kLayers]);
    if (!call) return;
    const RepeatedCalls::Entry* const known = calls.find(call->product, kOwner);
    if (known != nullptr && known->takes(*call)) ++found;
  };
  std::vector<double> ns;
  for (int round = 0; round < kRounds; ++round) ns.push_back(call_ns(kCalls, look));
  if (found != next) throw std::runtime_error("a call that was made before is not known");
  fmt::print("decision on a known problem: {:.1f} ns (mad {:.1f}, {} rounds of {})\n", median(ns),
             median_absolute_deviation(ns), ns.size(), kCalls);
}

/// Calls of one tiny GEMM, first with a constant lda and then with a new lda in every call.
void print_new_decision(const std::string& database) {
  const ContextPointer context = open_context(database, 1);
  std::vector<float> a(kTiny * (kTiny + kNewProblems), 0.5f), b(kTiny * kTiny, 0.25f),
      c(kTiny * kTiny, 0.0f);
  rooftile_sgemm_args args = square(kTiny, a, b, c);
  const auto sgemm = library().sgemm;
  std::vector<double> new_ns;
  for (int round = -1; round < kRounds; ++round) {
    int padding = 0;
    args.lda = kTiny;
    const double cached = call_ns(kNewProblems, [&] { check(sgemm(context.get(), &args)); });
    const double decided = call_ns(kNewProblems, [&] {
      args.lda = kTiny + padding++;
      check(sgemm(context.get(), &args));
    });
    if (round >= 0) new_ns.push_back(decided - cached);
  }
  fmt::print("decision on a new problem: {:.0f} ns (mad {:.0f}, {} rounds of {})\n", median(new_ns),
             median_absolute_deviation(new_ns), new_ns.size(), kNewProblems);
}

/// Time of a decision alone, for GEMMs that would run on the device if its kernels took no time,
/// so that the decision makes every possible prediction.
void print_contended_decision(const std::string& database) {
  Context context({.database = database, .log_untuned = LogUntuned::kNo});
  Problem p = packed_problem(kContended[0], kContended[1], kContended[2]);
  const Choice known = choose({.problem = p}, context.model());
  if (known.device_ns == std::numeric_limits<double>::infinity()) {
    fmt::print("decision on a new problem that the device competes for: there is no such device\n");
    return;
  }
  std::vector<double> ns;
  for (int round = -1; round < kRounds; ++round) {
    p.lda = p.k;
    const double decided = call_ns(kNewProblems, [&] {
      ++p.lda;
      context.predicted_tier(p);
    });
    if (round >= 0) ns.push_back(decided);
  }
  fmt::print(
      "decision on a new problem that the device competes for, {}: {:.0f} ns (mad {:.0f}, {} "
      "rounds "
      "of {}; device {:.0f} us, host {:.0f} us)\n",
      to_string(p), median(ns), median_absolute_deviation(ns), ns.size(), kNewProblems,
      known.device_ns * 1e-3, known.best_host_ns * 1e-3);
}

struct ReleaseBuffer {
  void operator()(rooftile_buffer* buffer) const { library().buffer_release(buffer); }
};
struct ReleaseList {
  void operator()(rooftile_list* list) const { library().list_release(list); }
};

void print_list(const std::string& database) {
  const ContextPointer context = open_context(database);
  std::array<std::unique_ptr<rooftile_buffer, ReleaseBuffer>, 3> buffers;
  for (auto& buffer : buffers) {
    rooftile_buffer* made = nullptr;
    check(library().buffer_create(context.get(), sizeof(float) * kListed * kListed, &made));
    buffer.reset(made);
  }
  rooftile_gemm_args args = {};
  args.struct_size = sizeof args;
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = kListed;
  args.batch = 1;
  args.alpha = 1;
  rooftile_resident_operands operands = {};
  operands.struct_size = sizeof operands;
  operands.a.buffer = buffers[0].get();
  operands.b.buffer = buffers[1].get();
  operands.c.buffer = buffers[2].get();
  const auto list_gemm = library().list_gemm;
  std::vector<double> ns;
  for (int i = -1; i < kLists; ++i) {
    rooftile_list* made = nullptr;
    check(library().list_create(context.get(), &made));
    const std::unique_ptr<rooftile_list, ReleaseList> list(made);
    const double added =
        call_ns(kListCalls, [&] { check(list_gemm(list.get(), &args, &operands)); });
    if (i >= 0) ns.push_back(added);
  }
  fmt::print("adding {0}x{0}x{0} to a list: {1:.1f} us (mad {2:.1f}, {3} lists of {4})\n", kListed,
             median(ns) * 1e-3, median_absolute_deviation(ns) * 1e-3, ns.size(), kListCalls);
}

/// Database and GEMM of the measurement; drivers take different times to compile different
/// kernels.
struct First {
  std::string database;
  bool trans_b = false;
};

struct Start {
  double open_ms = 0, first_result_ms = 0;
};

/// Time of rooftile_open, and from its start to the first result of the device tier, in this
/// process.
Start measure_start(const First& first) {
  constexpr auto kElements = static_cast<std::size_t>(kFirstSize * kFirstSize);
  std::vector<float> a(kElements, 0.5f), b(kElements, 0.25f), c(kElements, 0.0f);
  const double start = now_ns();
  const ContextPointer context = open_context(first.database);
  const double opened = now_ns();
  rooftile_sgemm_args args = square(kFirstSize, a, b, c);
  args.trans_b = first.trans_b ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
  args.tier = ROOFTILE_TIER_DEVICE;
  check(library().sgemm(context.get(), &args));
  return {.open_ms = (opened - start) * 1e-6, .first_result_ms = (now_ns() - start) * 1e-6};
}

// Every sample runs in a process of its own, so that only files are warm.
Start start_of_a_process(const First& first) {
  std::istringstream line(output_of(fmt::format(
      "{} --first-result{}{}", own_command("overhead"), first.trans_b ? " --trans-b" : "",
      first.database.empty() ? "" : " --db '" + first.database + "'")));
  Start start;
  if (!(line >> start.open_ms >> start.first_result_ms))
    throw std::runtime_error("the process that was to use the device failed");
  return start;
}

void print_start(const First& first) {
  start_of_a_process(first);  // Fills the caches.
  std::vector<double> open_ms, first_result_ms;
  for (int i = 0; i < kProcesses; ++i) {
    const Start start = start_of_a_process(first);
    open_ms.push_back(start.open_ms);
    first_result_ms.push_back(start.first_result_ms);
  }
  const auto print = [](const std::string& what, const std::vector<double>& ms) {
    fmt::print("warm start: {} {:.1f} ms (mad {:.1f}, worst {:.1f}, {} processes)\n", what,
               median(ms), median_absolute_deviation(ms), std::ranges::max(ms), ms.size());
  };
  print("rooftile_open", open_ms);
  print(fmt::format("rooftile_open to the first device result of {0}x{0}x{0} {1}:", kFirstSize,
                    first.trans_b ? "nt" : "nn"),
        first_result_ms);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer("Example: rooftile-bench overhead --db rooftile.db");
  First first;
  std::string& database = first.database;
  bool first_result = false, list = false;
  app.add_flag("--trans-b", first.trans_b, "The first device result is of a transposed B");
  app.add_option("--db", database, "Tuning database (default: the user's)");
  app.add_flag("--first-result", first_result,
               "Print one process' milliseconds to an open context and to its first device result");
  app.add_flag("--list", list, "Print only the cost of adding a product to a list");
  app.parse(argc, argv);
  if (list) return print_list(database);
  if (first_result) {
    const Start start = measure_start(first);
    fmt::print("{} {}\n", start.open_ms, start.first_result_ms);
    return;
  }
  print_overhead(database);
  print_known_decision();
  print_new_decision(database);
  print_contended_decision(database);
  print_counting();
  print_list(database);
  print_start(first);
}

}  // namespace rooftile::overhead_bench
