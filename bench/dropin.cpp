// Compares the drop-in BLAS with the BLAS that it uses, in turns in one process: random problems
// on host pointers, tiny calls, and the cost of loading it.
#include <fmt/format.h>
#include <rooftile/rooftile.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/baselines/shared_library.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/numbers/statistics.h"

namespace rooftile::dropin_bench {
namespace {

constexpr int kLargest = 3000;  // m, n and k are log-uniform from 1 to this
constexpr double kShortestNs =
    20e3;  // Shortest timed span; the cost of reading the clock is negligible in it.
// A problem counts as slower when its time exceeds both limits by more than its spread: a ratio,
// and an absolute overhead for calls that are themselves no longer than that overhead.
constexpr double kMostRatio = 1.10, kMostOverheadNs = 200;
// Repetitions of a problem that looks slower, after all others, so that a short disturbance is
// over.
constexpr int kMoreMeasurements = 2;
constexpr int kProcesses = 15;
constexpr int kHost = 100;  // m, n and k of a GEMM that reaches the runtime

struct Options {
  int problems = 300;
  int rounds = 31;       // Largest number of rounds of a problem.
  int least_rounds = 7;  // Smallest number of rounds of a slow problem.
  double seconds = 1.5;  // Time limit of one problem's rounds.
  unsigned seed = 1;
  std::string database, csv, library, load;
};

template <typename Real>
inline constexpr bool kIsFloat32 = std::is_same_v<Real, float>;

/// sgemm_ or dgemm_.
template <typename Real>
using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const Real*,
                      const Real*, const int*, const Real*, const int*, const Real*, Real*,
                      const int*);

template <typename Real>
Gemm<Real> gemm_of(const std::string& library) {
  Gemm<Real> found;
  SharedLibrary("the BLAS", {library},
                "scripts/build builds the drop-in; install libopenblas0-pthread")
      .load(found, kIsFloat32<Real> ? "sgemm_" : "dgemm_");
  return found;
}

struct Problem {
  int m, n, k;
  char trans_a, trans_b;
  float beta;
};

/// Column-major matrices without padding.
template <typename Real>
class Operands {
 public:
  explicit Operands(const Problem& p)
      : p_(p),
        a_(elements(p.m, p.k), Real{0.5}),
        b_(elements(p.k, p.n), Real{0.25}),
        c_(elements(p.m, p.n)) {}
  void multiply(Gemm<Real> gemm) {
    const int lda = p_.trans_a == 'N' ? p_.m : p_.k, ldb = p_.trans_b == 'N' ? p_.k : p_.n;
    const Real alpha = 1, beta = p_.beta;
    gemm(&p_.trans_a, &p_.trans_b, &p_.m, &p_.n, &p_.k, &alpha, a_.data(), &lda, b_.data(), &ldb,
         &beta, c_.data(), &p_.m);
  }

 private:
  static std::size_t elements(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  Problem p_;
  std::vector<Real> a_, b_, c_;
};

template <typename Real>
double call_ns(Operands<Real>& operands, Gemm<Real> gemm, int calls) {
  const double start = now_ns();
  for (int i = 0; i < calls; ++i) operands.multiply(gemm);
  return (now_ns() - start) / calls;
}

struct Pair {
  std::vector<double> blas_ns, drop_in_ns, ratio, difference_ns;
};

/// The contestants run in turns; the order alternates from round to round.
template <typename Real>
Pair measure(const Problem& p, Gemm<Real> blas, Gemm<Real> drop_in, const Options& options) {
  Operands<Real> operands(p);
  call_ns(operands, drop_in, 1);  // Opens the context and decides.
  const double once_ns = call_ns(operands, blas, 1);
  const int calls = static_cast<int>(std::clamp(kShortestNs / once_ns, 1.0, 1000.0));
  Pair pair;
  const double start = now_s();
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= options.least_rounds && now_s() - start > options.seconds) break;
    double drop_in_ns = round % 2 == 0 ? call_ns(operands, drop_in, calls) : 0;
    const double blas_ns = call_ns(operands, blas, calls);
    if (round % 2 == 1) drop_in_ns = call_ns(operands, drop_in, calls);
    pair.blas_ns.push_back(blas_ns);
    pair.drop_in_ns.push_back(drop_in_ns);
    pair.ratio.push_back(drop_in_ns / blas_ns);
    pair.difference_ns.push_back(drop_in_ns - blas_ns);
  }
  return pair;
}

bool is_slower(const Pair& pair) {
  return median_interval(pair.ratio).low > kMostRatio &&
         median(pair.drop_in_ns) - median(pair.blas_ns) > kMostOverheadNs;
}

std::vector<Problem> random_problems(const Options& options) {
  std::mt19937 random(options.seed);
  std::uniform_real_distribution<double> logarithm(0.0, std::log(kLargest + 1.0));
  const auto size = [&] { return static_cast<int>(std::exp(logarithm(random))); };
  std::vector<Problem> problems;
  for (int i = 0; i < options.problems; ++i)
    problems.push_back({.m = size(),
                        .n = size(),
                        .k = size(),
                        .trans_a = i & 1 ? 'T' : 'N',
                        .trans_b = i & 2 ? 'T' : 'N',
                        .beta = i & 4 ? 1.0f : 0.0f});
  return problems;
}

struct CloseContext {
  void operator()(rooftile_context* context) const { rooftile_close(context); }
};

/// Names of the tiers that the drop-in's context chooses.
class Tiers {
 public:
  Tiers() {
    rooftile_options options = {};
    options.struct_size = sizeof options;
    options.no_untuned_log = 1;
    rooftile_context* context = nullptr;
    if (rooftile_open(&options, &context) != ROOFTILE_OK)
      throw std::runtime_error(rooftile_last_error());
    context_.reset(context);
  }
  template <typename Real>
  const char* of(const Problem& p) const {
    static constexpr std::array kNames = {"auto", "device", "host", "host1", "host64"};
    rooftile_gemm_args args = {};
    args.struct_size = sizeof args;
    args.batch = 1;
    args.layout = ROOFTILE_COLUMN_MAJOR;
    args.trans_a = p.trans_a == 'T' ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
    args.trans_b = p.trans_b == 'T' ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
    args.m = args.ldc = p.m;
    args.n = p.n;
    args.k = p.k;
    args.lda = p.trans_a == 'T' ? p.k : p.m;
    args.ldb = p.trans_b == 'T' ? p.n : p.k;
    if constexpr (kIsFloat32<Real>) {
      args.alpha = 1;
      args.beta = p.beta;
    } else {
      args.type = args.type_c = ROOFTILE_F64;
      args.alpha_f64 = 1;
      args.beta_f64 = p.beta;
    }
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    if (rooftile_explain_gemm(context_.get(), &args, &decision) != ROOFTILE_OK)
      throw std::runtime_error(rooftile_last_error());
    return kNames.at(static_cast<std::size_t>(decision.tier));
  }

 private:
  std::unique_ptr<rooftile_context, CloseContext> context_;
};

struct Row {
  Problem problem;
  std::string first;     // The measurement as the CSV has it.
  int times_slower = 0;  // Successive measurements that were slower, from the first on.

  bool slower_each_time() const { return times_slower == 1 + kMoreMeasurements; }
};

/// Each problem is measured again with fresh operands and rounds until it is not slower.
template <typename Real>
void measure_slower_again(std::vector<Row>& rows, Gemm<Real> blas, Gemm<Real> drop_in,
                          const Options& options) {
  for (int before = 1; before <= kMoreMeasurements; ++before)
    for (Row& row : rows)
      if (row.times_slower == before && is_slower(measure(row.problem, blas, drop_in, options)))
        ++row.times_slower;
}

template <typename Real>
void print_random_problems(Gemm<Real> blas, Gemm<Real> drop_in, const Options& options) {
  const Tiers tiers;
  CsvFile csv(options.csv,
              "m,n,k,trans_a,trans_b,beta,tier,rounds,blas_ns,blas_mad_ns,drop_in_ns,"
              "drop_in_mad_ns,ratio,ratio_low,ratio_high,times_slower");
  double blas_total = 0, drop_in_total = 0, slowest = 0, slowest_low = 0;
  // Largest overhead of GEMMs for which kMostRatio allows less than kMostOverheadNs.
  double overhead = 0;
  int shortest = 0;
  Problem slowest_problem = {};
  std::vector<Row> rows;
  for (const Problem& p : random_problems(options)) {
    const Pair pair = measure(p, blas, drop_in, options);
    const Summary blas_time = summarize(pair.blas_ns), time = summarize(pair.drop_in_ns);
    const double ratio = median(pair.ratio);
    const Interval spread = median_interval(pair.ratio);
    blas_total += blas_time.median_ns;
    drop_in_total += time.median_ns;
    const double extra_ns = time.median_ns - blas_time.median_ns;
    if ((kMostRatio - 1) * blas_time.median_ns < kMostOverheadNs) {
      ++shortest;
      overhead = std::max(overhead, extra_ns);
    } else if (ratio > slowest) {
      slowest = ratio;
      slowest_low = spread.low;
      slowest_problem = p;
    }
    rows.push_back({.problem = p,
                    .first = fmt::format(
                        "{},{},{},{},{},{},{},{},{:.0f},{:.0f},{:.0f},{:.0f},{:.4f},{:.4f},{:.4f}",
                        p.m, p.n, p.k, p.trans_a, p.trans_b, p.beta, tiers.of<Real>(p),
                        pair.ratio.size(), blas_time.median_ns, blas_time.mad_ns, time.median_ns,
                        time.mad_ns, ratio, spread.low, spread.high),
                    .times_slower = is_slower(pair) ? 1 : 0});
  }
  measure_slower_again(rows, blas, drop_in, options);
  for (const Row& row : rows) csv.add(fmt::format("{},{}", row.first, row.times_slower));
  const Problem& p = slowest_problem;
  fmt::print(
      "{} random problems: BLAS {:.1f} ms, drop-in {:.1f} ms, total ratio {:.4f}\n"
      "{} of them below {:.0f} us: at most {:.0f} ns more; of the others the slowest has {:.3f} "
      "(at "
      "least {:.3f}), {}x{}x{} {}{}\n{} looked slower by more than {:.0f} % and {:.0f} ns, beyond "
      "spread; {} of them again each time, measured up to {} times more\n",
      options.problems, blas_total * 1e-6, drop_in_total * 1e-6, drop_in_total / blas_total,
      shortest, 1e-3 * kMostOverheadNs / (kMostRatio - 1), overhead, slowest, slowest_low, p.m, p.n,
      p.k, p.trans_a, p.trans_b,
      std::ranges::count_if(rows, [](const Row& row) { return row.times_slower > 0; }),
      100 * (kMostRatio - 1), kMostOverheadNs, std::ranges::count_if(rows, &Row::slower_each_time),
      kMoreMeasurements);
}

template <typename Real>
void print_overhead(int size, Gemm<Real> blas, Gemm<Real> drop_in, Options options) {
  options.rounds = options.least_rounds = 301;
  const Pair pair =
      measure({.m = size, .n = size, .k = size, .trans_a = 'N', .trans_b = 'N', .beta = 0}, blas,
              drop_in, options);
  fmt::print(
      "{0}x{0}x{0}: BLAS {1:.0f} ns, drop-in {2:.0f} ns, overhead {3:.0f} ns (mad {4:.0f}, {5} "
      "rounds)\n",
      size, median(pair.blas_ns), median(pair.drop_in_ns), median(pair.difference_ns),
      median_absolute_deviation(pair.difference_ns), pair.ratio.size());
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) * 1e-6;
}

/// Milliseconds and megabytes for loading the drop-in and for its first GEMM on the host, in a
/// process in which BLAS has already computed one.
void print_load_of_this_process(const std::string& library, const std::string& blas) {
  double mb = resident_mb(), start = now_ns();
  const Gemm<float> drop_in = gemm_of<float>(library);
  const double load_ms = (now_ns() - start) * 1e-6, load_mb = resident_mb() - mb;
  Operands<float> operands(
      {.m = kHost, .n = kHost, .k = kHost, .trans_a = 'N', .trans_b = 'N', .beta = 0});
  operands.multiply(gemm_of<float>(blas));
  mb = resident_mb();
  start = now_ns();
  operands.multiply(drop_in);
  fmt::print("{} {} {} {}\n", load_ms, load_mb, (now_ns() - start) * 1e-6, resident_mb() - mb);
}

void print_load(const Options& options) {
  const std::string command =
      fmt::format("ROOFTILE_TIER=host {} --load '{}'", own_command("dropin"), options.library);
  std::array<std::vector<double>, 4> samples;
  for (int i = -1; i < kProcesses; ++i) {
    std::istringstream line(output_of(command));
    std::array<double, 4> x = {};
    for (double& value : x) line >> value;
    if (!line) throw std::runtime_error("failed: " + command);
    for (std::size_t j = 0; i >= 0 && j < x.size(); ++j) samples[j].push_back(x[j]);
  }
  const auto text = [](const std::vector<double>& x, const char* unit) {
    return fmt::format("{:.2f} {} (worst {:.2f})", median(x), unit,
                       *std::max_element(x.begin(), x.end()));
  };
  fmt::print("loading: {}, {}; first product that asks the runtime: {}, {} ({} processes)\n",
             text(samples[0], "ms"), text(samples[1], "MB"), text(samples[2], "ms"),
             text(samples[3], "MB"), kProcesses);
}

template <typename Real>
void compare(const std::string& blas, const Options& options) {
  const Gemm<Real> direct = gemm_of<Real>(blas), drop_in = gemm_of<Real>(options.library);
  for (const int size : {8, 48}) print_overhead(size, direct, drop_in, options);
  print_random_problems(direct, drop_in, options);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "A random problem that looks slower is measured again after all others, up to twice, and is\n"
      "slower only if it is each time (CSV: times_slower, 3 at most). All else is of the first\n"
      "measurement.\n"
      "Example: rooftile-bench dropin --db rooftile.db --csv dropin.csv");
  Options options;
  std::string blas = "libopenblas.so.0", type = "f32";
  bool quick = false;
  app.add_option("--db", options.database, "Tuning database (default: the user's)");
  app.add_option("--csv", options.csv, "Write the random problems' times to this file");
  app.add_option("--type", type, "f32 (default) or f64")->check(CLI::IsMember({"f32", "f64"}));
  app.add_option("--problems", options.problems, "Random problems (300)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--seed", options.seed, "Of the random problems (1)");
  app.add_flag("--quick", quick, "A tenth of the problems, in 7 rounds each");
  app.add_option("--library", options.library,
                 "The drop-in (default: the one beside this program)");
  app.add_option("--load", options.load,
                 "Print one process' cost of loading this library, and end");
  app.parse(argc, argv);
  if (!options.load.empty()) return print_load_of_this_process(options.load, blas);
  if (!options.database.empty()) ::setenv("ROOFTILE_DB", options.database.c_str(), 1);
  if (quick) {
    options.problems = std::max(1, options.problems / 10);
    options.rounds = options.least_rounds;
  }
  if (options.library.empty()) options.library = own_file("librooftile_blas.so.0");
  print_load(options);
  type == "f64" ? compare<double>(blas, options) : compare<float>(blas, options);
}

}  // namespace rooftile::dropin_bench
