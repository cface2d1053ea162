// Whether calibration and model hold: the host's figures against an independent program in the same
// run, the device's against clpeak, and the model's bounds and order against measured kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/rank_correlation.h"
#include "core/statistics.h"
#include "db/store.h"
#include "runtime/host_blas.h"
#include "runtime/model/roofline.h"
#include "tuner/calibrate.h"
#include "tuner/frozen_space.h"

namespace rooftile {
namespace {

/// What a program prints; throws kIo when it fails.
std::string output_of(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) fail(ErrorCode::kIo, "cannot run {}", command);
  std::string text;
  for (char buffer[4096]; const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    text.append(buffer, got);
  if (const int status = ::pclose(pipe); status != 0)
    fail(ErrorCode::kIo, "{} failed (status {})", command, status);
  return text;
}

using Samples = std::map<std::string, std::vector<double>>;  // by figure

/// "copy 12.3" lines.
void read_reference(const std::filesystem::path& program, int threads, const std::string& tier,
                    Samples& samples) {
  std::istringstream text(output_of(fmt::format("{} {}", program.string(), threads)));
  double value = 0;
  for (std::string name; text >> name >> value;)
    samples[fmt::format("{}.{}", name, tier)].push_back(value);
}

void read_own(Samples& samples) {
  const std::atomic<bool> stop = false;
  for (const Figure& figure : calibrate_host_peaks(stop)) {
    std::string_view name = figure.name;
    for (const std::string_view prefix : {"host.stream.", "host."})
      if (name.starts_with(prefix)) {
        name.remove_prefix(prefix.size());
        break;
      }
    std::string key(name);
    if (key.starts_with("bandwidth.")) key.replace(0, key.find('.'), "triad");
    samples[key].push_back(figure.value);
  }
}

int host(int rounds) {
  const std::filesystem::path reference =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "host_reference";
  const int threads = HostBlas::get().threads();
  Samples own, other;
  for (int round = 0; round < rounds; ++round) {
    read_own(own);
    read_reference(reference, threads, "threads", other);
    read_reference(reference, 1, "single", other);
  }
  fmt::print("host figures of calibration beside {}, {} interleaved rounds\n",
             reference.filename().string(), rounds);
  fmt::print("{:<16} {:>12} {:>9} {:>12} {:>9} {:>8}\n", "figure", "calibration", "+-", "reference",
             "+-", "ratio");
  bool within = true;
  for (const auto& [figure, values] : own) {
    const std::vector<double>& others = other.at(figure);
    const double ratio = median(values) / median(others);
    constexpr double kWanted = 0.1;
    within = within && std::abs(ratio - 1) <= kWanted;
    fmt::print("{:<16} {:>12.2f} {:>9.2f} {:>12.2f} {:>9.2f} {:>8.3f}\n", figure, median(values),
               median_absolute_deviation(values), median(others), median_absolute_deviation(others),
               ratio);
  }
  fmt::print("{} within 10 %\n", within ? "all" : "not all");
  return 0;
}

/// The largest of the numbers behind "label :" in clpeak's text; 0 when there is none.
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

int device(const std::string& name) {
  const Enumeration found = enumerate_devices();
  const auto profile = std::ranges::find_if(found.devices, [&](const DeviceProfile& d) {
    return d.name.find(name) != std::string::npos;
  });
  if (profile == found.devices.end()) fail(ErrorCode::kDevice, "no device matches '{}'", name);
  const std::vector<Figure> figures = calibrate_device(Device::open(*profile));
  const std::string clpeak = output_of("clpeak --compute-sp --global-bandwidth 2>/dev/null");
  fmt::print("{} beside what clpeak attains through OpenCL\n{:<34} {:>12} {:>9} {:>12}\n",
             profile->name, "figure", "calibration", "+-", "clpeak");
  for (const auto& [figure, section] :
       {std::pair("device.fma.f32", "Single-precision compute"),
        std::pair("device.level.memory.bandwidth", "Global memory bandwidth")}) {
    const auto at = std::ranges::find(figures, figure, &Figure::name);
    if (at != figures.end())
      fmt::print("{:<34} {:>12.2f} {:>9.2f} {:>12.2f}\n", figure, at->value, at->mad,
                 largest_behind(clpeak, section));
  }
  return 0;
}

struct ModelOptions {
  std::vector<std::string> files;
  std::string calibration;
};

/// Of the space's device and driver in another database; the space's own without one.
std::vector<Figure> figures_of(const FrozenSpace& space, const std::string& database) {
  if (database.empty()) return space.figures;
  const Store store(database, OpenMode::kReadOnly);
  for (const DeviceRecord& device : store.devices())
    if (device.profile.name == space.device && device.profile.driver_info == space.driver)
      return store.latest_calibration(device.id, Provenance::kOwn);
  fail(ErrorCode::kInvalidArgument, "{} has no calibration of {} ({})", database, space.device,
       space.driver);
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
  const DeviceRates rates = calibration_from_figures(figures_of(space, options.calibration)).device;
  std::vector<double> predicted, measured, over_bound;
  std::set<Family> families;
  std::size_t above = 0;
  for (const FrozenPoint& point : space.points) {
    if (point.status != SampleStatus::kMeasured) continue;
    predicted.push_back(analytical_ns(space.problem, point.variant, rates));
    measured.push_back(point.kernel_ns + point.pack_ns);
    const Roofline bounds = roofline(space.problem, point.variant, rates);
    over_bound.push_back(point.kernel_ns / bounds.ns());
    // A median's spread: two standard deviations of the samples, for a bound is a median as well.
    constexpr double kSpread = 2 * 1.4826;
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

int model(const ModelOptions& options) {
  fmt::print("{:<14} {:<22} {:>8} {:>9} {:>9} {:>7} {:>9} {:>9}\n", "space", "problem", "kernels",
             "families", "Spearman", "above", "least", "median");
  Total total;
  for (const std::string& file : options.files) check_space(file, options, total);
  fmt::print(
      "{} kernels of {} families; lowest Spearman correlation {:.3f}; {} bounds above the "
      "measured\n"
      "time by more than its spread. least, median: measured time over the bound\n",
      total.kernels, total.families.size(), total.least, total.above);
  return 0;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  using namespace rooftile;
  CLI::App app("Checks calibration and roofline model against other programs and measured kernels");
  app.footer(
      "Examples:\n  bench_roofline host\n  bench_roofline device\n"
      "  bench_roofline model bench/replay/*-22.csv");
  app.require_subcommand(1);
  int rounds = 5;
  CLI::App* host_command =
      app.add_subcommand("host", "STREAM and multiply-adds against build/bench/host_reference");
  host_command->add_option("--rounds", rounds, "Of both, in turn (default 5)")
      ->check(CLI::Range(1, 1000));
  std::string device_name;
  CLI::App* device_command = app.add_subcommand(
      "device", "Against clpeak, for plausibility (packages clpeak, pocl-opencl-icd)");
  device_command->add_option("--device", device_name, "Whose name contains this text");
  ModelOptions options;
  CLI::App* model_command =
      app.add_subcommand("model", "Bounds and order against the kernels of frozen spaces");
  model_command
      ->add_option("files", options.files, "Frozen spaces, as rooftile db export-space writes them")
      ->required();
  model_command->add_option("--calibration", options.calibration,
                            "Database with the calibration to use instead of the spaces' own");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*host_command) return host(rounds);
    if (*device_command) return device(device_name);
    return model(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_roofline: {}\n", error.what());
    return 1;
  }
}
