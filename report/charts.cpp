#include "report/charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rooftile {
namespace {

// Limits that keep a page below 3 MB whatever the database holds.
constexpr std::size_t kMostDevices = 12, kMostProblems = 300, kMostClasses = 16;
constexpr std::size_t kMostRuns = 4;    // of a problem, the newest
constexpr std::size_t kMostSteps = 60;  // of a curve

constexpr int kMapOctaves = 13, kStepsOfOctave = 3;  // sizes 1 to 8192
constexpr std::int64_t kDepths[] = {16, 64, 256, 1024, 4096};

Problem sized(const Problem& of_class, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem p = packed_problem(m, n, k, of_class.trans_a, of_class.trans_b, 1, of_class.types);
  p.epilogue = of_class.epilogue;
  return p;
}

/// A tuned device as the runtime sees it.
class Runtime {
 public:
  Runtime(const Store& store, const RuntimeView& view, const DeviceReport& device,
          const std::vector<TunedKernel>& kernels) {
    const DeviceRates& rates = device.calibration.device;
    choice_ = view.kernels(device.profile, rates, kernels,
                           store.portfolio(device.row, view.generator_version));
    std::vector<TunedTime> times;
    for (const ProblemReport& p : device.problems) {
      if (is_grouped(p.problem)) continue;  // The model predicts single products and batches.
      times.push_back({.problem = p.problem,
                       .ns = p.total_ns(),
                       .tile_m = p.variant.tile_m,
                       .tile_n = p.variant.tile_n});
    }
    model_ =
        DispatchModel(device.calibration, device.profile.kind, times, choice_->predicted_classes());
  }

  std::optional<ChosenKernel> choose(const Problem& p) const { return choice_->choose(p); }

  Decision decide(const Problem& p, bool legal) const {
    Call call{.problem = p, .extra_passes_over_c = any(p.epilogue) ? 1.0 : 0.0};
    if (!legal) call.device_veto = "no kernel is legal for it";
    return rooftile::decide(call, model_);
  }

 private:
  std::unique_ptr<KernelChoice> choice_;
  DispatchModel model_;
};

/// Replaces names by indices; the most frequent kernel comes first.
void number_kernels(KernelMap& map, const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> cells;
  for (const std::string& name : names)
    if (!name.empty()) ++cells[name];
  for (const auto& [name, count] : cells) map.kernels.push_back(name);
  std::ranges::stable_sort(map.kernels, std::greater{},
                           [&](const std::string& name) { return cells[name]; });
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(map.kernels, names[i]);
    if (found != map.kernels.end())
      map.cells[i].kernel = static_cast<int>(found - map.kernels.begin());
  }
}

KernelMap kernel_map(const Runtime& runtime, const Problem& of_class) {
  KernelMap map{.depths = {std::begin(kDepths), std::end(kDepths)}};
  for (int octave = 0; octave <= kMapOctaves; ++octave)
    map.sizes.push_back(std::int64_t{1} << octave);
  std::vector<std::string> names;
  for (const std::int64_t k : map.depths)
    for (const std::int64_t n : map.sizes)
      for (const std::int64_t m : map.sizes) {
        const Problem p = sized(of_class, m, n, k);
        const std::optional<ChosenKernel> chosen = runtime.choose(p);
        const Decision decision = runtime.decide(p, chosen.has_value());
        map.cells.push_back({.ns = chosen ? chosen->ns : 0, .score = decision.score});
        names.push_back(chosen ? chosen->kernel : "");
      }
  number_kernels(map, names);
  return map;
}

Boundary boundary(const Runtime& runtime, const Problem& of_class) {
  Boundary line{.depths = {0}};
  line.depths.insert(line.depths.end(), std::begin(kDepths), std::end(kDepths));
  for (int step = 0; step <= kMapOctaves * kStepsOfOctave; ++step) {
    const auto size = std::llround(std::exp2(static_cast<double>(step) / kStepsOfOctave));
    if (line.sizes.empty() || size > line.sizes.back()) line.sizes.push_back(size);
  }
  for (const std::int64_t depth : line.depths)
    for (const std::int64_t size : line.sizes) {
      const Problem p = sized(of_class, size, size, depth == 0 ? size : depth);
      line.points.push_back(runtime.decide(p, runtime.choose(p).has_value()));
    }
  return line;
}

/// Keeps at most kMostSteps steps: the first, the last, and others evenly between them.
void thin(std::vector<SearchStep>& steps) {
  if (steps.size() <= kMostSteps) return;
  std::vector<SearchStep> kept;
  for (std::size_t i = 0; i < kMostSteps; ++i)
    kept.push_back(steps[i * (steps.size() - 1) / (kMostSteps - 1)]);
  steps = std::move(kept);
}

void add_searches(DeviceCharts& charts, std::vector<SearchCurve> curves) {
  const std::vector<ProblemReport>& problems = charts.device.problems;
  // Keeps the newest runs of each problem.
  std::ranges::stable_sort(curves, std::greater{}, &SearchCurve::run);
  std::vector<std::size_t> runs(problems.size());
  for (SearchCurve& curve : curves) {
    charts.samples += curve.samples;
    charts.failed += curve.failed;
    const auto found = std::ranges::find(problems, curve.problem, &ProblemReport::problem_row);
    if (found == problems.end()) continue;
    const auto place = static_cast<std::size_t>(found - problems.begin());
    if (++runs[place] > kMostRuns) continue;
    thin(curve.steps);
    charts.searches.push_back({.problem = place, .curve = std::move(curve)});
  }
  std::ranges::stable_sort(charts.searches, {}, [](const SearchReport& search) {
    return std::pair(search.problem, search.curve.run);
  });
}

std::vector<ClassReport> classes_of(const DeviceReport& device) {
  std::vector<ClassReport> classes;
  for (const ProblemReport& p : device.problems) {
    if (is_grouped(p.problem)) continue;  // Maps and lines are of single products.
    auto same = std::ranges::find(classes, p.signature, &ClassReport::signature);
    if (same == classes.end())
      same = classes.insert(same, {.signature = p.signature, .example = p.problem});
    ++same->tuned;
  }
  std::ranges::stable_sort(classes, std::greater{}, &ClassReport::tuned);
  return classes;
}

void add_classes(DeviceCharts& charts, const Store& store, const RuntimeView& view,
                 std::size_t most) {
  const DeviceReport& device = charts.device;
  if (!is_calibrated(device.calibration.device)) return;
  charts.classes = classes_of(device);
  if (charts.classes.size() > most) {
    charts.classes_left_out = charts.classes.size() - most;
    charts.classes.resize(most);
  }
  const std::vector<TunedKernel> kernels = store.tuned_kernels(device.row, view.generator_version);
  for (ClassReport& report : charts.classes) {
    // Kernels of other classes cannot be chosen.
    std::vector<TunedKernel> of_class;
    std::ranges::copy_if(kernels, std::back_inserter(of_class), [&](const TunedKernel& kernel) {
      return kernel.candidate.signature == report.signature;
    });
    const Runtime runtime(store, view, device, of_class);
    report.map = kernel_map(runtime, report.example);
    report.boundary = boundary(runtime, report.example);
  }
}

/// Divides the rest among those that need some of it, those that need least first.
std::vector<std::size_t> shares(const std::vector<std::size_t>& wanted, std::size_t most) {
  std::vector<std::size_t> order(wanted.size()), granted(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    granted[order[i]] = std::min(wanted[order[i]], most / (order.size() - i));
    most -= granted[order[i]];
  }
  return granted;
}

}  // namespace

Charts make_charts(const Store& store, const RuntimeView& runtime, Report report) {
  Charts charts{.database = std::move(report.database)};
  std::vector<DeviceReport>& devices = report.devices;
  std::ranges::stable_sort(devices, std::greater{}, [](const DeviceReport& device) {
    return std::pair(!device.problems.empty(), !device.calibrated_at.empty());
  });
  if (devices.size() > kMostDevices) {
    charts.devices_left_out = devices.size() - kMostDevices;
    devices.erase(devices.begin() + kMostDevices, devices.end());
  }
  std::vector<std::size_t> problems;
  for (const DeviceReport& device : devices) problems.push_back(device.problems.size());
  const auto tuned = static_cast<std::size_t>(
      std::ranges::count_if(problems, [](std::size_t count) { return count > 0; }));
  problems = shares(problems, kMostProblems);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceCharts& device = charts.devices.emplace_back(DeviceCharts{.device = devices[i]});
    // Problems are sorted by size, and the largest are kept.
    std::vector<ProblemReport>& kept = device.device.problems;
    device.problems_left_out = kept.size() - problems[i];
    kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(device.problems_left_out));
    add_searches(device, store.search_curves(device.device.row));
    add_classes(device, store, runtime, kMostClasses / std::max<std::size_t>(tuned, 1));
  }
  return charts;
}

}  // namespace rooftile
