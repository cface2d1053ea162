// What a call through the runtime costs over the same call into OpenBLAS, and how long a process
// waits for its first result from the device, and what it costs to count a call of an untuned
// problem. All through the C ABI, as programs use it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <rooftile/rooftile.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/statistics.h"
#include "db/store.h"

namespace rooftile {
namespace {

constexpr int kTiny = 8;                     // m, n and k of the overhead's product
constexpr int kCalls = 1000, kRounds = 301;  // per round; the clock's own cost vanishes in a round
constexpr int kUntuned = 80;                 // m, n and k of a product that is just worth counting
constexpr int kUntunedCalls = 10, kUntunedRounds = 5001;  // short: many rounds are undisturbed
constexpr std::int64_t kFirstSize = 512;                  // m, n and k of the first device result
constexpr int kProcesses = 15;

void check(rooftile_status status) {
  if (status != ROOFTILE_OK) throw std::runtime_error(rooftile_last_error());
}

struct CloseContext {
  void operator()(rooftile_context* context) const { rooftile_close(context); }
};
using ContextPointer = std::unique_ptr<rooftile_context, CloseContext>;

ContextPointer open_context(const std::string& database, int no_untuned_log = 0) {
  rooftile_options options = {};
  options.struct_size = sizeof options;
  options.no_untuned_log = no_untuned_log;
  options.database_path = database.empty() ? nullptr : database.c_str();
  rooftile_context* context = nullptr;
  check(rooftile_open(&options, &context));
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
  void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle != nullptr ? dlsym(handle, "cblas_sgemm") : nullptr;
  if (symbol == nullptr)
    throw std::runtime_error("no cblas_sgemm in libopenblas.so.0; install libopenblas0-pthread");
  return reinterpret_cast<CblasSgemm>(symbol);
}

template <typename Call>
double call_ns(int calls, const Call& call) {
  const double start = now_ns();
  for (int i = 0; i < calls; ++i) call();
  return (now_ns() - start) / calls;
}

/// The same calls through two contexts on a database with a device that nobody has tuned; one of
/// them counts.
void print_counting() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench-overhead-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const std::string database = folder + "/untuned.db";
  DeviceProfile device;
  device.name = "untuned";
  Store(database).device_id(device);
  std::vector<double> difference_ns;
  {
    const ContextPointer counting = open_context(database), silent = open_context(database, 1);
    std::vector<float> a(kUntuned * kUntuned, 0.5f), b(kUntuned * kUntuned, 0.25f),
        c(kUntuned * kUntuned, 0.0f);
    const rooftile_sgemm_args args = square(kUntuned, a, b, c);
    const auto round_ns = [&](const ContextPointer& context) {
      check(rooftile_sgemm(context.get(), &args));  // decides: the contexts share a cache
      return call_ns(kUntunedCalls, [&] { check(rooftile_sgemm(context.get(), &args)); });
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
  const ContextPointer context = open_context(database);
  std::vector<float> a(kTiny * kTiny, 0.5f), b(kTiny * kTiny, 0.25f), c(kTiny * kTiny, 0.0f);
  const rooftile_sgemm_args args = square(kTiny, a, b, c);
  const auto through_blas = [&] {
    direct(kRowMajor, kNoTrans, kNoTrans, kTiny, kTiny, kTiny, 1.0f, a.data(), kTiny, b.data(),
           kTiny, 0.0f, c.data(), kTiny);
  };
  const auto through_rooftile = [&] { check(rooftile_sgemm(context.get(), &args)); };
  std::vector<double> blas_ns, rooftile_ns, difference_ns;
  for (int round = -1; round < kRounds; ++round) {
    const double blas = call_ns(kCalls, through_blas), ours = call_ns(kCalls, through_rooftile);
    if (round < 0) continue;  // warms up, and decides
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

/// From rooftile_open to the first result of the device tier, in this process; ms.
double first_result_ms(const std::string& database) {
  constexpr auto kElements = static_cast<std::size_t>(kFirstSize * kFirstSize);
  std::vector<float> a(kElements, 0.5f), b(kElements, 0.25f), c(kElements, 0.0f);
  const double start = now_ns();
  const ContextPointer context = open_context(database);
  rooftile_sgemm_args args = square(kFirstSize, a, b, c);
  args.tier = ROOFTILE_TIER_DEVICE;
  check(rooftile_sgemm(context.get(), &args));
  return (now_ns() - start) * 1e-6;
}

// A process of its own for every sample: nothing may be warm but files.
double first_result_of_a_process_ms(const std::string& database) {
  std::array<char, 4096> self = {};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) < 0)
    throw std::runtime_error("cannot read /proc/self/exe");
  const std::string command = fmt::format("'{}' --first-result{}", self.data(),
                                          database.empty() ? "" : " --db '" + database + "'");
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  double ms = 0;
  const int fields = std::fscanf(pipe, "%lf", &ms);
  if (::pclose(pipe) != 0 || fields != 1)
    throw std::runtime_error("the process that was to use the device failed");
  return ms;
}

void print_first_result(const std::string& database) {
  first_result_of_a_process_ms(database);  // fills the caches
  std::vector<double> ms;
  for (int i = 0; i < kProcesses; ++i) ms.push_back(first_result_of_a_process_ms(database));
  fmt::print(
      "warm start: rooftile_open to the first device result of {0}x{0}x{0}: {1:.1f} ms (mad "
      "{2:.1f}, worst {3:.1f}, {4} processes)\n",
      kFirstSize, median(ms), median_absolute_deviation(ms),
      *std::max_element(ms.begin(), ms.end()), ms.size());
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  CLI::App app("Costs of the runtime itself.\nExample: bench_overhead --db rooftile.db");
  std::string database;
  bool first_result = false;
  app.add_option("--db", database, "Tuning database (default: the user's)");
  app.add_flag("--first-result", first_result,
               "Print one process' milliseconds to its first device result, and end");
  CLI11_PARSE(app, argc, argv);
  try {
    if (first_result) {
      fmt::print("{}\n", rooftile::first_result_ms(database));
      return 0;
    }
    rooftile::print_overhead(database);
    rooftile::print_counting();
    rooftile::print_first_result(database);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_overhead: {}\n", error.what());
    return 1;
  }
}
