// rooftile-bench: each bench is a sub-command, whose file in this folder has its name.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/contests/compilers.h"
#include "bench/contests/program.h"
#include "bench/contests/simulated_gpu.h"

namespace rooftile {

// clang-format off
namespace budget_bench { Bench run; }
namespace decoding_bench { Bench run; }
namespace dispatch_bench { Bench run; }
namespace dropin_bench { Bench run; }
namespace embed_bench { Bench run; }
namespace errors_bench { Bench run; }
namespace fleet_bench { Bench run; }
namespace forecast_bench { Bench run; }
namespace gemm_bench { Bench run; }
namespace grouped_bench { Bench run; }
namespace kernels_bench { Bench run; }
namespace limiter_bench { Bench run; }
namespace model_bench { Bench run; }
namespace overhead_bench { Bench run; }
namespace packed_bench { Bench run; }
namespace precision_bench { Bench run; }
namespace regret_bench { Bench run; }
namespace roofline_bench { Bench run; }
namespace search_bench { Bench run; }
namespace split_bench { Bench run; }
namespace transfer_bench { Bench run; }
namespace tuning_bench { Bench run; }
namespace weights_bench { Bench run; }

namespace {

struct Entry {
  const char *name, *question;
  Bench* run;
};

constexpr Entry kBenches[] = {
  {"budget", "What does a tuning run lose by ending early?", budget_bench::run},
  {"decoding", "How much could faster decoding of quantised weights gain in products of one row?", decoding_bench::run},
  {"dispatch", "How much slower than the best tier is the one that is chosen by prediction?", dispatch_bench::run},
  {"dropin", "What does the drop-in BLAS cost over the BLAS underneath?", dropin_bench::run},
  {"embed", "What does a header of `rooftile embed` cost, and does it choose as the runtime does?", embed_bench::run},
  {"errors", "How does the error of a product grow with k, on the host and in each kind of kernel?", errors_bench::run},
  {"fleet", "How long do merging and asking take for the databases of a thousand machines?", fleet_bench::run},
  {"forecast", "Do the intervals and probabilities that the program states hold for held-out problems?", forecast_bench::run},
  {"gemm", "How fast are kernels, whole calls, BLAS and vendors' libraries in one interleaved run?", gemm_bench::run},
  {"grouped", "What does a grouped call take beside one dense GEMM and a loop of single calls?", grouped_bench::run},
  {"kernels", "Which kernel of a problem is faster, and what does the driver make of each?", kernels_bench::run},
  {"limiter", "Is what is said to limit a kernel that whose doubling moves its time the most?", limiter_bench::run},
  {"model", "How long does a decision take on a problem that was never seen before?", model_bench::run},
  {"overhead", "What does a call through the runtime cost, and the start of a process?", overhead_bench::run},
  {"packed", "What do weights gain that are packed once?", packed_bench::run},
  {"precision", "What do float64 sums cost on the host?", precision_bench::run},
  {"regret", "Is the regret that the tuner claims for untuned problems the one that is measured?", regret_bench::run},
  {"roofline", "Do calibration and model agree with other programs and with measured kernels?", roofline_bench::run},
  {"search", "How close to the optimum is each search strategy after so many candidates?", search_bench::run},
  {"split", "How fast are calls that are split over devices and the host, beside each alone?", split_bench::run},
  {"transfer", "What does a call take besides its kernel?", transfer_bench::run},
  {"tuning", "What does a tuning run find in its time on a simulated GPU?", tuning_bench::run},
  {"weights", "What does a product with weights of each format cost beside float32 ones?", weights_bench::run},
};
// clang-format on

int run(const Entry& bench, int argc, char** argv) {
  const std::string name = fmt::format("rooftile-bench {}", bench.name);
  CLI::App app(bench.question, name);
  try {
    bench.run(app, argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

int choose(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  const auto* const bench = std::ranges::find(kBenches, wanted, &Entry::name);
  if (bench != std::end(kBenches)) return run(*bench, argc - 1, argv + 1);
  if (wanted == "worker") return run_simulated_worker();  // As the tuner starts its workers.
  const bool help = wanted == "-h" || wanted == "--help";
  std::FILE* const out = help ? stdout : stderr;
  if (argc > 1 && !help) fmt::print(out, "rooftile-bench: there is no bench '{}'\n", wanted);
  fmt::print(out,
             "Usage: rooftile-bench BENCH [OPTIONS]; BENCH --help lists its options\n\nBenches:\n");
  for (const Entry& one : kBenches) fmt::print(out, "  {:<10} {}\n", one.name, one.question);
  return help ? 0 : 2;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  const int code = rooftile::choose(argc, argv);
  if (!rooftile::Compilers::any_threads()) return code;
  std::fflush(nullptr);
  std::_Exit(code);  // Threads may be in a driver's compiler for ever.
}
