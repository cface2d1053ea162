// What does a product with weights of each format cost beside float32 ones? Kernels of all types
// are timed in turns; each type's fastest is compared with that of float32 in the same rounds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "bench/baselines/baseline.h"
#include "bench/baselines/baseline_turns.h"
#include "bench/contests/kernel_turn.h"
#include "bench/contests/program.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/priors/default_kernel.h"
#include "runtime/device/device.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::weights_bench {
namespace {

constexpr double kRotatedBytes = 128e6;
constexpr const char* kReference = "f32";

/// One type in ggml, which holds one problem at a time.
struct Ggml {
  Ggml(const std::string& library, const Problem& p)
      : baseline(open_baseline("ggml", {.library = library})) {
    Random random(7);
    std::vector<std::vector<char>> memory;
    std::vector<HostOperands> sets;
    for (std::size_t i = 0; i < operand_sets(p, kRotatedBytes); ++i) {
      memory.push_back(random_operand(p.types.a, span_a(p), random));
      memory.push_back(random_b(p.types, span_b(p), random));
      sets.push_back({memory[2 * i].data(), memory[2 * i + 1].data()});
    }
    rounds = std::make_unique<BaselineRounds>(*baseline, p, sets);
  }
  std::unique_ptr<Baseline> baseline;
  std::unique_ptr<BaselineRounds> rounds;
};

struct Contestant {
  std::string type;
  Problem problem;
  Variant kernel;
  bool in_ggml = false;
  std::shared_ptr<Ggml> ggml = {};  ///< Runs instead of the kernel.
  std::vector<double> ns = {};      ///< One for each round; with packing where this counts.
  std::string failure = {};
};

std::vector<std::string> default_types() {
  std::vector<std::string> types = {"f32xq4b32"};
  for (const BlockLayout& layout : block_layouts())
    types.push_back(fmt::format("f32x{}", layout.name));
  return types;
}

struct Setting {
  std::int64_t m = 1, n = 4096, k = 4096;
  std::vector<std::string> types = default_types();
  std::vector<std::string> kernels;  ///< "type: settings", beside the priors of the type.
  std::size_t priors = 2;            ///< How many of them.
  int rounds = 21;
  std::string csv, ggml;  ///< Path of ggml's library, if it takes part.

  Problem problem(const std::string& type) const {
    return staged_problem(
        packed_problem(m, n, k, Transpose::kNo, Transpose::kYes, 1, parse_types(type)));
  }
};

Contestant in_ggml(const std::string& library, const std::string& type, const Problem& p) {
  Contestant made = {.type = type, .problem = p, .kernel = {}, .in_ggml = true};
  try {
    made.ggml = std::make_shared<Ggml>(library, p);
  } catch (const Error& error) {
    made.failure = error.what();
  }
  return made;
}

std::string name(const Contestant& one) { return one.in_ggml ? "ggml" : short_name(one.kernel); }

/// Key for the fastest of a type.
std::string kind(const Contestant& one) { return one.type + (one.in_ggml ? " ggml" : ""); }

std::vector<Contestant> contestants(const DeviceProfile& device, const Setting& setting) {
  std::vector<std::string> types = {kReference};
  types.insert(types.end(), setting.types.begin(), setting.types.end());
  std::vector<Contestant> all;
  for (const std::string& type : types) {
    const Problem p = setting.problem(type);
    const std::vector<Prior> known = default_kernels(device, device.limits, p, own_buffers(p));
    for (std::size_t i = 0; i < std::min(known.size(), setting.priors); ++i)
      all.push_back({.type = type, .problem = p, .kernel = known[i].variant});
    if (!setting.ggml.empty()) all.push_back(in_ggml(setting.ggml, type, p));
  }
  for (const std::string& text : setting.kernels) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos)
      fail(ErrorCode::kInvalidArgument, "'{}': a kernel is TYPE:PARAMETERS", text);
    const std::string type = text.substr(0, colon);
    all.push_back({.type = type,
                   .problem = setting.problem(type),
                   .kernel = parse_variant(text.substr(colon + 1))});
  }
  return all;
}

void take_turn(Measurer& measurer, Contestant& contestant) try {
  if (contestant.ggml) {
    measurer.clocks().raise();
    return contestant.ns.push_back(contestant.ggml->rounds->next_ns());
  }
  contestant.ns.push_back(
      ns_of(one_turn(measurer, contestant.kernel, contestant.problem, kRotatedBytes)));
} catch (const Error& error) {
  contestant.failure = error.what();
}

/// The contestant with the least median of each type, those of a type in order.
std::map<std::string, const Contestant*> fastest(const std::vector<Contestant>& all) {
  std::map<std::string, const Contestant*> best;
  for (const Contestant& one : all) {
    if (one.ns.empty()) continue;
    const Contestant*& known = best[kind(one)];
    if (known == nullptr || median(one.ns) < median(known->ns)) known = &one;
  }
  return best;
}

/// Ratios of times within each round.
Summary over(const Contestant& one, const Contestant& reference) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(one.ns.size(), reference.ns.size()); ++i)
    ratios.push_back(one.ns[i] / reference.ns[i]);
  return summarize(ratios);
}

double weight_bytes(const Problem& p) {
  return static_cast<double>(span_b(p)) *
         (quantized(p.types) ? bytes_per_element_b(p.types) : bytes_of(p.types.a));
}

/// Writes the table anew, so that it is there when the program is ended.
void write(const std::vector<Contestant>& all, const Setting& setting) {
  const auto best = fastest(all);
  if (setting.csv.empty() || !best.contains(kReference)) return;
  CsvFile file(setting.csv,
               "type,m,n,k,kernel,rounds,median_ns,low_ns,high_ns,ratio,ratio_low,"
               "ratio_high,fastest");
  for (const Contestant& one : all) {
    if (one.ns.empty()) continue;
    const Summary time = summarize(one.ns), ratio = over(one, *best.at(kReference));
    file.add(fmt::format("{},{},{},{},{},{},{:.0f},{:.0f},{:.0f},{:.4f},{:.4f},{:.4f},{}", one.type,
                         setting.m, setting.n, setting.k, name(one), one.ns.size(), time.median_ns,
                         time.low_ns, time.high_ns, ratio.median_ns, ratio.low_ns, ratio.high_ns,
                         best.at(kind(one)) == &one ? 1 : 0));
  }
}

void print(const std::vector<Contestant>& all) {
  const auto best = fastest(all);
  if (!best.contains(kReference)) fail(ErrorCode::kDevice, "no float32 kernel was timed");
  for (const Contestant& one : all) {
    if (one.ns.empty()) {
      fmt::print("- {:<10} {}: {}\n", one.type, name(one), one.failure);
      continue;
    }
    const Summary time = summarize(one.ns), ratio = over(one, *best.at(kReference));
    fmt::print(
        "{} {:<10} {:>9.1f} us ({:.1f} to {:.1f}), {:>5.2f} GB/s of weights, {:.3f} of {} "
        "({:.3f} to {:.3f}): {}\n",
        best.at(kind(one)) == &one ? '*' : '-', one.type, time.median_ns * 1e-3, time.low_ns * 1e-3,
        time.high_ns * 1e-3, weight_bytes(one.problem) / time.median_ns, ratio.median_ns,
        kReference, ratio.low_ns, ratio.high_ns, name(one));
  }
}

int run(const Setting& setting) {
  const DeviceProfile device = wanted_devices().front();
  fmt::print(
      "{}: {} x {} x {}, {} rounds; medians with 95 % intervals, packing counted; * is the "
      "fastest of a type\n",
      device.name, setting.m, setting.n, setting.k, setting.rounds);
  Measurer measurer(Device::open(device));
  std::vector<Contestant> all = contestants(device, setting);
  for (const Contestant& one : all)
    if (one.ggml) {
      fmt::print("{} on {}\n", one.ggml->baseline->library(), one.ggml->baseline->device());
      break;
    }
  for (int round = 0; round < setting.rounds; ++round) {
    for (Contestant& contestant : all)
      if (contestant.failure.empty()) take_turn(measurer, contestant);
    write(all, setting);
  }
  print(all);
  return 0;
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer("Products with weights of each format are timed in turns with float32 ones.");
  Setting setting;
  app.add_option("--m", setting.m, "Rows of A (1: decoding)");
  app.add_option("--n", setting.n, "Rows of the weights");
  app.add_option("--k", setting.k, "Columns of the weights");
  app.add_option("--types", setting.types, "Types, as of `rooftile tune`")->delimiter(',');
  app.add_option("--kernel", setting.kernels,
                 "A further kernel, 'f32xq8_0:family=vector tile_m=1 ...'; several times");
  app.add_option("--priors", setting.priors, "How many of the kernels of an untuned device");
  app.add_option("--rounds", setting.rounds);
  app.add_option("--ggml", setting.ggml,
                 "Path of libggml-vulkan.so: ggml takes part (bench/README.md)");
  app.add_option("--csv", setting.csv, "Also writes a table");
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::weights_bench
