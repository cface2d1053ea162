// The cost of decoding in a product of one row with quantised weights. Each format's first kernel
// runs in turns with copies of it whose text leaves a part out: the ratios bound what any faster
// way of decoding could gain. Copies compute something wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/contests/program.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "generator/priors/default_kernel.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/staging.h"
#include "tuner/worker/panels.h"
#include "tuner/worker/timed_operands.h"

namespace rooftile::decoding_bench {
namespace {

constexpr double kRotatedBytes = 128e6;

struct Edit {
  std::string_view from, to;
  bool in_every_format = true;  // else it is left out of a text that has not what it changes
};
struct Part {
  std::string_view name;
  std::vector<Edit> edits;
};

/// Every workgroup multiplies with the rows of the first one, which lie in the caches.
const Edit kFirstRows = {"void begin_row(uint j, uint column) {",
                         "void begin_row(uint j, uint column) {\n  column %= TILE_N;"};
/// Every value is the word that holds it, as a float: all bytes are read, and none is taken apart.
const std::vector<Edit> kWordsAsFloats = {
    {"uint group_word(uint low, uint high, uint first, uint g, uint w) {",
     "uint group_word(uint low, uint high, uint first, uint g, uint w) {\n  return low ^ high;",
     false},
    {"float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {",
     "float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {\n  return "
     "uintBitsToFloat(word);"},
    {"return value - b_zero_point[j][u / STEPS_PER_SCALE];", "return value;", false}};
const Edit kNoA = {"product(a_at(i, s * STEPS_PER_SCALE + u), b)", "b"};

std::vector<Part> parts() {
  std::vector<Part> all = {{"the kernel", {}},
                           {"weights in caches", {kFirstRows}},
                           {"no decoding", kWordsAsFloats},
                           {"no decoding, weights in caches", kWordsAsFloats},
                           {"no decoding, no A", kWordsAsFloats}};
  all[3].edits.push_back(kFirstRows);
  all[4].edits.push_back(kNoA);
  return all;
}

void apply(std::string& text, const Edit& edit) {
  const std::size_t at = text.find(edit.from);
  if (at == std::string::npos && !edit.in_every_format) return;
  if (at == std::string::npos)
    fail(ErrorCode::kInternal,
         "the kernel's text has no '{}': rooftile-bench decoding follows templates/", edit.from);
  text.replace(at, edit.from.size(), edit.to);
}

/// A kernel whose text may be changed, on operands of its own.
class Contestant {
 public:
  /// The kernel says how to start the one with the changed text.
  Contestant(std::shared_ptr<Device> device, TimedOperands& operands, const Problem& problem,
             const Kernel& kernel, const Variant& variant, const Part& part)
      : device_(std::move(device)) {
    Shader shader = emit_gemm(variant, signature_of(problem));
    for (const Edit& edit : part.edits) apply(shader.glsl, edit);
    pipeline_ = device_->create_pipeline(compile(shader), shader.interface);
    const Placement placement = own_buffers(problem);
    const GemmPlan plan = kernel.plan(problem, placement);
    const Panels panels(*device_, plan);
    for (std::size_t set = 0; set < operands.sets(); ++set) {
      KernelSteps made =
          kernel.steps(plan, operands.operands(set, placement, variant), panels.workspace());
      if (made.steps.size() != 1)
        fail(ErrorCode::kUnsupported, "a kernel that packs or divides k has no parts to leave out");
      std::get<DispatchStep>(made.steps[0]).pipeline = &pipeline_;
      lists_.push_back(device_->record(made.steps, Timing::kPerStep));
    }
  }

  void take_turn() {
    const RunResult result = device_->run(lists_[turn_++ % lists_.size()], kWorkerTimeoutNs);
    ns_.push_back(std::accumulate(result.step_ns.begin(), result.step_ns.end(), 0.0));
  }
  const std::vector<double>& ns() const { return ns_; }

 private:
  std::shared_ptr<Device> device_;
  Pipeline pipeline_;
  std::vector<CommandList> lists_;
  std::vector<double> ns_;
  std::size_t turn_ = 0;
};

struct Setting {
  std::int64_t n = 4096, k = 4096;
  std::vector<std::string> types = {"f32xq8_0", "f32xq4_k", "f32xq6_k"};
  std::string reference =
      "family=vector tile_m=1 tile_n=32 tile_k=16 reg_m=1 reg_n=2 unroll_k=16 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel";
  int rounds = 21;
};

Summary over(const std::vector<double>& ns, const std::vector<double>& reference) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ns.size(); ++i) ratios.push_back(ns[i] / reference[i]);
  return summarize(ratios);
}

/// Returns the kernel that is timed for a format: the first of an untuned device.
Variant first_kernel(const DeviceProfile& device, const Problem& p) {
  const std::vector<Prior> known = default_kernels(device, device.limits, p, own_buffers(p));
  if (known.empty()) fail(ErrorCode::kUnsupported, "no kernel is known for {}", to_string(p.types));
  return known.front().variant;
}

void run(const Setting& setting) {
  const DeviceProfile profile = wanted_devices().front();
  const std::shared_ptr<Device> device = Device::open(profile);
  const auto problem = [&](const std::string& types) {
    return staged_problem(packed_problem(1, setting.n, setting.k, Transpose::kNo, Transpose::kYes,
                                         1, parse_types(types)));
  };
  TimedOperands plain(device);
  const Problem p = problem("f32");
  plain.prepare(p, kRotatedBytes);
  const auto kernel_of = [&](const Problem& of, const Variant& variant) {
    return Kernel(device, variant, signature_of(of), ShaderCache({}));
  };
  const Variant float32 = parse_variant(setting.reference);
  Contestant reference(device, plain, p, kernel_of(p, float32), float32, {"float32", {}});
  struct Row {
    std::string type;
    Part part;
    std::unique_ptr<Contestant> contestant;
  };
  std::vector<std::unique_ptr<TimedOperands>> operands;
  std::vector<Row> rows;
  for (const std::string& type : setting.types) {
    const Problem quantised = problem(type);
    const Variant variant = first_kernel(profile, quantised);
    const Kernel kernel = kernel_of(quantised, variant);
    operands.push_back(std::make_unique<TimedOperands>(device));
    operands.back()->prepare(quantised, kRotatedBytes);
    for (const Part& part : parts())
      rows.push_back({type, part,
                      std::make_unique<Contestant>(device, *operands.back(), quantised, kernel,
                                                   variant, part)});
  }
  for (int round = 0; round < setting.rounds; ++round) {
    reference.take_turn();
    for (const Row& row : rows) row.contestant->take_turn();
  }
  fmt::print("{}: 1 x {} x {}, {} rounds; medians with 95 % intervals; float32 {:.1f} us\n",
             profile.name, setting.n, setting.k, setting.rounds,
             summarize(reference.ns()).median_ns * 1e-3);
  for (const Row& row : rows) {
    const Summary time = summarize(row.contestant->ns());
    const Summary ratio = over(row.contestant->ns(), reference.ns());
    fmt::print(
        "{:<10} {:<32} {:>8.1f} us ({:.1f} to {:.1f}), {:.3f} of float32 ({:.3f} to {:.3f})\n",
        row.type, row.part.name, time.median_ns * 1e-3, time.low_ns * 1e-3, time.high_ns * 1e-3,
        ratio.median_ns, ratio.low_ns, ratio.high_ns);
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer("Decode kernels of weight formats are timed beside copies that leave a part out.");
  Setting setting;
  app.add_option("--n", setting.n, "Rows of the weights");
  app.add_option("--k", setting.k, "Columns of the weights");
  app.add_option("--types", setting.types, "Types, as of `rooftile tune`")->delimiter(',');
  app.add_option("--reference", setting.reference, "The float32 kernel");
  app.add_option("--rounds", setting.rounds);
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::decoding_bench
