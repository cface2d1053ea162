// Checks calibration and model: the host's rates against an independent program in the same run,
// the device's rates against clpeak, and the model's bounds and order against measured kernels.
#include "runtime/model/roofline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "bench/contests/program.h"
#include "bench/contests/rank_correlation.h"
#include "bench/contests/replay.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "db/store.h"
#include "runtime/host/host_blas.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/search/frozen_space.h"

namespace rooftile::roofline_bench {
namespace {

/// Runs bench/host_reference with this many threads, which waits for requests.
class Reference {
 public:
  Reference(const std::filesystem::path& program, int threads) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      fail(ErrorCode::kIo, "no pipe to {}: {}", program.string(), std::strerror(errno));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string name = program.string(), count = std::to_string(threads);
    char* const arguments[] = {name.data(), count.data(), nullptr};
    const int error = ::posix_spawn(&process_, name.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
    if (error != 0) fail(ErrorCode::kIo, "cannot run {}: {}", name, std::strerror(error));
  }
  Reference(const Reference&) = delete;
  ~Reference() {
    std::fclose(to_);  // The program ends when its input ends.
    std::fclose(from_);
    ::waitpid(process_, nullptr, 0);
  }

  double measure(const std::string& kernel) {
    fmt::print(to_, "{}\n", kernel);
    std::fflush(to_);
    double value = 0;
    if (std::fscanf(from_, "%lf", &value) != 1)
      fail(ErrorCode::kIo, "host_reference did not report {}", kernel);
    return value;
  }

 private:
  pid_t process_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

/// Maps "host.bandwidth.single" to "triad", and "host.stream.copy.threads" to "copy".
std::string kernel_of(const std::string& figure) {
  if (figure.starts_with("host.bandwidth.")) return "triad";
  const std::size_t tier = figure.rfind('.'), kernel = figure.rfind('.', tier - 1) + 1;
  return figure.substr(kernel, tier - kernel);
}

struct Compared {
  SampledFigure figure;
  Reference* reference;
  std::vector<double> own = {}, other = {}, ratios = {};
};

/// Takes one sample of each, right after one another, so that disturbances of the machine affect
/// both.
void compare_once(Compared& compared, bool own_first) {
  double own = 0, other = 0;
  const auto take_own = [&] { own = compared.figure.take().value; };
  if (own_first) take_own();
  other = compared.reference->measure(kernel_of(compared.figure.name));
  if (!own_first) take_own();
  compared.own.push_back(own);
  compared.other.push_back(other);
  compared.ratios.push_back(own / other);
}

void host(int rounds) {
  const std::filesystem::path program = own_file("host_reference");
  Reference threads(program, HostBlas::get().threads()), single(program, 1);
  std::vector<Compared> figures;
  for (SampledFigure& figure : host_peaks()) {
    Reference& reference = figure.name.ends_with(".single") ? single : threads;
    figures.push_back({std::move(figure), &reference});
    compare_once(figures.back(), true);
    figures.back().own.clear(), figures.back().other.clear(), figures.back().ratios.clear();
  }
  for (int round = 0; round < rounds; ++round)
    for (Compared& compared : figures) compare_once(compared, round % 2 == 0);
  fmt::print(
      "host rates of the calibration compared with {}, {} rounds of one sample each in turn\n",
      program.filename().string(), rounds);
  fmt::print("{:<26} {:>12} {:>9} {:>12} {:>9} {:>8} {:>8}\n", "figure", "calibration", "+-",
             "reference", "+-", "ratio", "+-");
  bool within = true;
  for (const Compared& compared : figures) {
    const double ratio = median(compared.ratios);
    constexpr double kWanted = 0.1;
    within = within && std::abs(ratio - 1) <= kWanted;
    fmt::print("{:<26} {:>12.2f} {:>9.2f} {:>12.2f} {:>9.2f} {:>8.3f} {:>8.3f}\n",
               compared.figure.name, median(compared.own), median_absolute_deviation(compared.own),
               median(compared.other), median_absolute_deviation(compared.other), ratio,
               median_absolute_deviation(compared.ratios));
  }
  fmt::print("{} within 10 %\n", within ? "all" : "not all");
}

/// The largest of the numbers after "label :" in clpeak's output; 0 when there is none.
double largest_behind(const std::string& text, const std::string& section) {
  std::istringstream lines(text);
  double largest = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(" : ");
    if (colon == std::string::npos)
      inside = line.find(section) != std::string::npos;
    else if (inside)
      largest = std::max(largest, std::strtod(line.c_str() + colon + 3, nullptr));
  }
  return largest;
}

void device() {
  const DeviceProfile profile = wanted_devices().front();
  FullClocks clocks(Device::open(profile));
  const std::vector<Figure> figures = calibrate_device(clocks).figures;
  const std::string clpeak = output_of("clpeak --compute-sp --global-bandwidth 2>/dev/null");
  fmt::print("{} beside what clpeak attains through OpenCL\n{:<34} {:>12} {:>9} {:>12}\n",
             profile.name, "figure", "calibration", "+-", "clpeak");
  for (const auto& [figure, section] :
       {std::pair("device.fma.f32", "Single-precision compute"),
        std::pair("device.level.memory.bandwidth", "Global memory bandwidth")}) {
    const auto at = std::ranges::find(figures, figure, &Figure::name);
    if (at != figures.end())
      fmt::print("{:<34} {:>12.2f} {:>9.2f} {:>12.2f}\n", figure, at->value, at->mad,
                 largest_behind(clpeak, section));
  }
}

struct ModelOptions {
  std::vector<std::string> files;
  std::string calibration;
};

/// Calibration of the space's device and driver in another database; without one, the space's own.
std::vector<Figure> figures_of(const FrozenSpace& space, const std::string& database) {
  if (database.empty()) return space.figures;
  if (auto figures = figures_in(database, space)) return *std::move(figures);
  fail(ErrorCode::kInvalidArgument, "{} has no calibration of {} ({})", database, space.device,
       space.driver);
}

// Uncertainty of a median: two standard deviations, computed from the median absolute deviation.
constexpr double kSpread = 2 * kNormalDeviation;

/// Rates at the upper end of their spread, because a bound is only as certain as its rate.
std::vector<Figure> highest_of(std::vector<Figure> figures) {
  for (Figure& figure : figures)
    if (figure.unit == "gflops" || figure.unit == "gbps") figure.value += kSpread * figure.mad;
  return figures;
}

struct Total {
  std::size_t kernels = 0, above = 0;
  std::set<Family> families = {};
  double least = 1;
};

void check_space(const std::string& file, const ModelOptions& options, Total& total) {
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) fail(ErrorCode::kIo, "cannot read {}", file);
  const FrozenSpace space = parse_frozen_space(text, file);
  const std::vector<Figure> figures = figures_of(space, options.calibration);
  const DeviceRates rates = calibration_from_figures(figures).device;
  const DeviceRates highest = calibration_from_figures(highest_of(figures)).device;
  std::vector<double> predicted, measured, over_bound;
  std::set<Family> families;
  std::size_t above = 0;
  for (const FrozenPoint& point : space.points) {
    if (point.status != SampleStatus::kMeasured) continue;
    predicted.push_back(analytical_ns(space.problem, point.variant, rates));
    measured.push_back(point.kernel_ns + point.pack_ns);
    over_bound.push_back(point.kernel_ns / roofline(space.problem, point.variant, rates).ns());
    const Roofline bounds = roofline(space.problem, point.variant, highest);
    if (bounds.ns() > point.kernel_ns + kSpread * point.mad_ns) {
      ++above;
      fmt::print("  above: {} {} has a bound of {:.1f} us ({}), measured {:.1f} +- {:.1f} us\n",
                 std::filesystem::path(file).stem().string(), short_name(point.variant),
                 bounds.ns() * 1e-3, bounds.bounds.front().limiter, point.kernel_ns * 1e-3,
                 point.mad_ns * 1e-3);
    }
    families.insert(point.variant.family);
  }
  const double correlation = rank_correlation(predicted, measured);
  fmt::print("{:<14} {:<22} {:>8} {:>9} {:>9.3f} {:>7} {:>9.2f} {:>9.2f}\n",
             std::filesystem::path(file).stem().string(), to_string(space.problem), measured.size(),
             families.size(), correlation, above, *std::ranges::min_element(over_bound),
             median(over_bound));
  total.kernels += measured.size();
  total.above += above;
  total.families.insert(families.begin(), families.end());
  total.least = std::min(total.least, correlation);
}

void model(const ModelOptions& options) {
  fmt::print("{:<14} {:<22} {:>8} {:>9} {:>9} {:>7} {:>9} {:>9}\n", "space", "problem", "kernels",
             "families", "Spearman", "above", "least", "median");
  Total total;
  for (const std::string& file : options.files) check_space(file, options, total);
  fmt::print(
      "{} kernels of {} families; lowest Spearman correlation {:.3f}; {} bounds above the "
      "measured\n"
      "time by more than both spreads. least, median: measured time over the bound\n",
      total.kernels, total.families.size(), total.least, total.above);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Examples:\n  rooftile-bench roofline host\n  rooftile-bench roofline device\n"
      "  rooftile-bench roofline model bench/replay/*-22.csv");
  app.require_subcommand(1);
  int rounds = 15;
  CLI::App* host_command =
      app.add_subcommand("host", "STREAM and multiply-adds against build/bench/host_reference");
  host_command->add_option("--rounds", rounds, "Samples of each, in turn (default 15)")
      ->check(CLI::Range(1, 1000));
  CLI::App* device_command = app.add_subcommand(
      "device", "Against clpeak, for plausibility (packages clpeak, pocl-opencl-icd)");
  ModelOptions options;
  CLI::App* model_command =
      app.add_subcommand("model", "Bounds and order against the kernels of frozen spaces");
  model_command
      ->add_option("files", options.files, "Frozen spaces, as rooftile db export-space writes them")
      ->required();
  model_command->add_option("--calibration", options.calibration,
                            "Database with the calibration to use instead of the spaces' own");
  app.parse(argc, argv);
  if (*host_command)
    host(rounds);
  else if (*device_command)
    device();
  else
    model(options);
}

}  // namespace rooftile::roofline_bench
