// Grouped GEMM, as mixtures of experts need it. One interleaved run measures, on device buffers,
// one grouped call (with packed experts or with experts as stored, with sizes from the host or from
// the device), one dense GEMM of the same multiply-adds, and a loop of single calls, one for each
// group; and the same on the host's BLAS. Ratios are taken within each round.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <vector>

#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "runtime/abi/resident_arguments.h"
#include "runtime/call/grouped_call.h"
#include "runtime/dispatch/context.h"
#include "runtime/resident/packing_experts.h"
#include "runtime/resident/resident.h"

namespace rooftile::grouped_bench {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct Setting {
  std::int64_t tokens = 512, used = 8, experts = 64, k = 2048, n = 1024;
  double largest_share = 0;  // of all rows, in the first group; 0: random experts
  int rounds = 10;
  std::string kernel, dense_kernel;
  bool trans_b = false;
};

Transpose trans_b(const Setting& s) { return s.trans_b ? Transpose::kYes : Transpose::kNo; }

/// Each token uses so many different experts, which are random.
std::vector<Group> random_groups(const Setting& s) {
  Random random(11);
  std::vector<Group> groups(static_cast<std::size_t>(s.experts));
  for (std::int64_t e = 0; e < s.experts; ++e) groups[static_cast<std::size_t>(e)].expert = e;
  std::vector<std::size_t> order(groups.size());
  for (std::int64_t token = 0; token < s.tokens; ++token) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::int64_t u = 0; u < s.used; ++u) {
      const auto first = static_cast<std::size_t>(u);
      std::swap(order[first], order[first + random.below(order.size() - first)]);
      ++groups[order[first]].rows;
    }
  }
  return groups;
}

std::vector<Group> groups_of(const Setting& s) {
  if (s.largest_share == 0) return random_groups(s);
  const std::int64_t m = s.tokens * s.used;
  return typical_groups(grouped_problem(
      m, s.n, s.k,
      {.experts = s.experts,
       .groups = s.experts,
       .largest = static_cast<std::int64_t>(s.largest_share * static_cast<double>(m))}));
}

struct Contender {
  std::string name;
  std::function<void()> run;
  std::string kernel = {};
  std::vector<double> samples = {};          // ns
  std::vector<double> processor_times = {};  // of all threads, in ns
};

/// Processor time of all threads of the program, which programs beside it disturb less than the
/// time.
double processor_ns() { return static_cast<double>(std::clock()) * (1e9 / CLOCKS_PER_SEC); }

/// The operands in host memory.
class Operands {
 public:
  Operands(const Setting& s, std::vector<Group> groups)
      : groups_(std::move(groups)),
        grouped(grouped_problem(s.tokens * s.used, s.n, s.k, grouping_of(groups_, s.experts),
                                trans_b(s))),
        dense(packed_problem(grouped.m, s.n, s.k, Transpose::kNo, trans_b(s))) {
    Random random(7);
    for (auto& [x, elements] : {std::pair{&a, span_a(grouped)}, {&b, span_b(grouped)}}) {
      x->resize(static_cast<std::size_t>(elements));
      for (float& value : *x) value = random.symmetric();
    }
    c.resize(static_cast<std::size_t>(span_c(grouped)));
  }
  GroupedCall call(TierChoice tier) {
    return {{.problem = grouped, .a = a.data(), .b = b.data(), .c = c.data(), .tier = tier},
            groups_};
  }
  GemmCall dense_call(TierChoice tier) {
    return {.problem = dense, .a = a.data(), .b = b.data(), .c = c.data(), .tier = tier};
  }
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::vector<Group> groups_;

 public:
  const Problem grouped, dense;
  std::vector<float> a, b, c;
};

void add_host(std::vector<Contender>& contenders, Context& context, Operands& x) {
  contenders.push_back({"host grouped", [&] { context.grouped(x.call(TierChoice::kHost)); }});
  contenders.push_back({"host dense", [&] { context.gemm(x.dense_call(TierChoice::kHost)); }});
  contenders.push_back({"host loop", [&] {
                          const GroupedCall all = x.call(TierChoice::kHost);
                          std::int64_t first = 0;
                          for (const Group& group : all.groups) {
                            if (group.rows > 0) context.gemm(call_of_group(all, group, first));
                            first += group.rows;
                          }
                        }});
}

/// The operands on the device, and the calls on them.
class OnDevice {
 public:
  OnDevice(Context& context, Operands& x, const Setting& s)
      : resident_(context.resident()), a_(copy(x.a)), b_(copy(x.b)), c_(copy(x.c)) {
    std::vector<std::int32_t> sizes;
    for (const Group& group : x.groups()) sizes.push_back(static_cast<std::int32_t>(group.rows));
    sizes_ = copy(sizes);
    grouped_ = work(x.grouped, {});
    grouped_.call.groups =
        std::make_shared<const ResidentGroups>(ResidentGroups{.known = x.groups()});
    from_device_ = work(x.grouped, {});
    from_device_.uses.push_back(sizes_);
    from_device_.call.groups =
        std::make_shared<const ResidentGroups>(ResidentGroups{.sizes = {&sizes_->buffer, 0}});
    StoredOperand experts;
    experts.call.problem = x.grouped;
    experts.call.b = {&b_->buffer, 0};
    experts.uses = {b_};
    packed_ = grouped_;
    packed_.call.packed = pack_experts(*resident_, experts, context.id());
    packed_.call.b = {};
    packed_from_device_ = packed_;
    packed_from_device_.uses.push_back(sizes_);
    packed_from_device_.call.groups = from_device_.call.groups;
    dense_ = work(x.dense, {});
    std::int64_t first = 0;
    for (const Group& group : x.groups()) {
      Problem one = one_product(x.grouped);
      one.m = group.rows;
      if (group.rows > 0)
        single_.push_back(
            work(one, {first * one.lda, group.expert * x.grouped.stride_b, first * one.ldc}));
      first += group.rows;
    }
    settings_ = s;
  }

  void add(std::vector<Contender>& contenders) {
    for (const ResidentWork* w : {&grouped_, &dense_, &single_.front()}) prepare(*w);
    add_one(contenders, "packed", packed_, "");
    add_one(contenders, "packed, device's sizes", packed_from_device_, "");
    add_one(contenders, "as stored", grouped_, settings_.kernel);
    add_one(contenders, "stored, device's sizes", from_device_, settings_.kernel);
    add_one(contenders, "dense", dense_, settings_.dense_kernel);
    contenders.push_back({"loop, waited", [this] { loop(true); }, name_of(single_.front())});
    contenders.push_back({"loop", [this] { loop(false); }, name_of(single_.front())});
  }

 private:
  struct Offsets {
    std::int64_t a = 0, b = 0, c = 0;
  };
  template <typename T>
  std::shared_ptr<DeviceMemory> copy(const std::vector<T>& values) {
    auto there = resident_->create_memory(values.size() * sizeof(T));
    resident_->upload(there, 0, values.data(), values.size() * sizeof(T));
    return there;
  }
  ResidentWork work(const Problem& p, const Offsets& at) {
    const auto region = [](const std::shared_ptr<DeviceMemory>& memory, std::int64_t elements) {
      return Region{&memory->buffer, static_cast<std::uint64_t>(elements) * sizeof(float)};
    };
    ResidentWork w;
    w.call.problem = p;
    w.call.a = region(a_, at.a);
    w.call.b = region(b_, at.b);
    w.call.c = region(c_, at.c);
    w.uses = {a_, b_, c_};
    w.workspace = workspace_bound({}, 0, resident_->device()->profile());
    return w;
  }
  /// Waits until the best kernel of the class is certified.
  void prepare(const ResidentWork& w) { resident_->product(w, AwaitCertificate::kYes); }
  std::string name_of(const ResidentWork& w) {
    return short_name(resident_->product(w, AwaitCertificate::kYes).kernel()->variant());
  }
  /// A call as the runtime makes it, or with this kernel, which is not certified.
  void add_one(std::vector<Contender>& contenders, const char* name, const ResidentWork& w,
               const std::string& kernel) {
    if (kernel.empty()) {
      contenders.push_back({name, [this, &w] { resident_->gemm(w)->wait(kForever); }, name_of(w)});
      return;
    }
    const std::shared_ptr<Device>& device = resident_->device();
    const Variant variant = parse_variant(kernel);
    const auto compiled = std::make_shared<const Kernel>(
        device, variant, signature_of(w.call.problem), ShaderCache({}));
    const auto product = std::make_shared<const ResidentProduct>(
        device, compiled, bind(w.call, device->profile().limits), flops(w.call.problem) / 20,
        0.25e9);
    contenders.push_back(
        {name,
         [this, &w, product] {
           Segments segments;
           RunContents contents;
           MemoryUses uses;
           resident_->append(segments, *product, w, uses, contents.keeps, contents.kernels);
           contents.lists = resident_->record(segments, Resubmission::kWhenFinished);
           contents.expected_ns = product->expected_ns();
           std::vector<CommandList*> lists;
           for (CommandList& list : contents.lists) lists.push_back(&list);
           resident_->submit(lists, std::move(contents), uses)->wait(kForever);
         },
         short_name(variant)});
  }
  void loop(bool waited) {
    std::shared_ptr<Run> last;
    for (const ResidentWork& w : single_) {
      last = resident_->gemm(w);
      if (waited) last->wait(kForever);
    }
    last->wait(kForever);
  }

  const std::shared_ptr<Resident> resident_;
  std::shared_ptr<DeviceMemory> a_, b_, c_, sizes_;
  ResidentWork grouped_, from_device_, packed_, packed_from_device_, dense_;
  std::vector<ResidentWork> single_;
  Setting settings_;
};

void print(const std::vector<Contender>& contenders, double flops_each) {
  for (const Contender& x : contenders) {
    const bool on_host = x.name.starts_with("host");
    const auto base = std::ranges::find_if(
        contenders, [&](const Contender& y) { return y.name.starts_with("host") == on_host; });
    const auto ratio = [&](const std::vector<double>& a, const std::vector<double>& b) {
      std::vector<double> ratios(a.size());
      std::ranges::transform(a, b, ratios.begin(), std::divides());
      const Interval interval = median_interval(ratios);
      return fmt::format("{:.3f} ({:.3f} to {:.3f})", median(ratios), interval.low, interval.high);
    };
    const double ns = median(x.samples);
    fmt::print(
        "{:<24} {:>9.2f} ms {:>7.2f} GFLOP/s, over the first: time {:<24} processor time {:<24} "
        "{}\n",
        x.name, ns * 1e-6, flops_each / ns, ratio(x.samples, base->samples),
        ratio(x.processor_times, base->processor_times), x.kernel);
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  Setting s;
  std::string database, device;
  std::string only;
  app.add_option("--tokens", s.tokens, "(512)");
  app.add_option("--used", s.used, "Experts that a token uses (8)");
  app.add_option("--experts", s.experts, "(64)");
  app.add_option("--k", s.k, "(2048)");
  app.add_option("--n", s.n, "(1024)");
  app.add_flag("--trans-b", s.trans_b, "Experts are stored n x k");
  app.add_option(
      "--largest-share", s.largest_share,
      "Share of all rows that the first expert has; the others' shares fall off by a power of "
      "their number. 0: tokens choose at random (0)");
  app.add_option("--rounds", s.rounds, "Samples of each (10)");
  app.add_option("--only", only, "host or device; both otherwise");
  app.add_option("--kernel", s.kernel, "Variant of the grouped calls; not certified");
  app.add_option("--dense-kernel", s.dense_kernel, "Variant of the dense GEMM; not certified");
  app.add_option("--db", database, "Tuning database");
  app.add_option("--device", device, "Part of a device's name or UUID");
  app.parse(argc, argv);
  if (s.used > s.experts)
    fail(ErrorCode::kInvalidArgument, "a token uses {} of {} experts", s.used, s.experts);
  Context context({.database = database, .device = device});
  Operands x(s, groups_of(s));
  fmt::print("{}; groups of {} to {} rows\n", to_string(x.grouped),
             std::ranges::min(x.groups(), {}, &Group::rows).rows, x.grouped.grouping.largest);
  std::vector<Contender> contenders;
  std::optional<OnDevice> on_device;
  if (only != "host") on_device.emplace(context, x, s).add(contenders);
  if (only != "device") add_host(contenders, context, x);
  for (Contender& contender : contenders) contender.run();  // Warms up.
  for (int round = 0; round < s.rounds; ++round)
    for (Contender& contender : contenders) {
      const double start = now_ns(), start_processor = processor_ns();
      contender.run();
      contender.samples.push_back(now_ns() - start);
      contender.processor_times.push_back(processor_ns() - start_processor);
    }
  print(contenders, flops(x.dense));
}

}  // namespace rooftile::grouped_bench
