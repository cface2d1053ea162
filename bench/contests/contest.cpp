#include "bench/contests/contest.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bench/baselines/baseline.h"
#include "bench/baselines/baseline_turns.h"
#include "bench/contests/compilers.h"
#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/error.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/priors/default_kernel.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/dispatch/context.h"
#include "runtime/execute/device_tier.h"
#include "runtime/host/host_tier.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/random_operand.h"
#include "tuner/worker/measure.h"

namespace rooftile {
namespace {

constexpr std::size_t kFewestSamples = 5, kMostSamples = 101;
// A contestant's first call after another one's is slower (threads sleep, caches hold other
// operands). Below this time, an untimed call goes before the timed one.
constexpr double kWarmUpBelowNs = 50e6;
// Operands are rotated over this many times the last-level cache.
constexpr double kPastCache = 2;
constexpr double kDefaultCacheBytes = 64e6;  // used if the system does not report the size
constexpr double kMostOperandBytes = 2e9;
constexpr std::size_t kMostSets = 16;

double last_level_cache_bytes() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<double>(bytes) : kDefaultCacheBytes;
}

/// Operands of a whole batch.
struct BatchOperands {
  std::vector<char> a, b;  // elements of the problem's type
  std::vector<char> c;
  RandomQuantization quantization;
  std::vector<char> vectors;  // Ones, for every operand of the epilogue.
};

struct Competitor {
  std::string name, detail;
  // Returns the time of the whole batch in ns; throws Error.
  std::function<double(const BatchOperands&)> run;
  std::vector<double> sample_ns = {};
  double last_ns = 0;
  std::string skipped = {};
  std::shared_ptr<double> pack_ns = {};  // A kernel's packing in its last run.
};

/// The last run of a kernel, which a whole call with it asks for.
struct KernelRun {
  double ns = 0;
  std::string why_not = {};
};

/// The speed of a kernel over each baseline that ran.
std::vector<BaselineRatio> ratios_of(const Competitor& kernel, const std::vector<Competitor>& all,
                                     const std::vector<std::unique_ptr<Baseline>>& baselines) {
  std::vector<BaselineRatio> ratios;
  for (const auto& baseline : baselines)
    for (const Competitor& other : all)
      if (other.name == baseline->name() && other.skipped.empty())
        ratios.push_back(
            baseline_ratio(other.name, other.sample_ns, kernel.sample_ns, *kernel.pack_ns));
  return ratios;
}

}  // namespace

const Summary* ContestResult::time_of(std::string_view contestant) const {
  for (const ContestantResult& result : contestants)
    if (result.name == contestant && result.time) return &*result.time;
  return nullptr;
}

struct Contest::Impl {
  explicit Impl(const ContestSetting& chosen)
      : setting(chosen),
        context({.database = chosen.database, .while_compiling = WhileCompiling::kWait}) {}

  void fill_operands(const Problem& p);
  Competitor whole_call(const std::string& name, const Problem& p,
                        std::function<void(const GemmCall&)> call) const;
  Competitor kernel(const std::string& name, const Problem& p, const Variant& variant);
  Competitor device_call(const std::string& name, const Problem& p, const Variant& variant,
                         std::shared_ptr<KernelRun> kernel_run) const;
  void add_device(const std::string& name, const Problem& p, const Variant& variant,
                  std::vector<Competitor>& all);
  void add_other_types(const Problem& p, std::vector<Competitor>& all) const;
  void add_further_kernels(const Problem& p, std::vector<Competitor>& all);
  Competitor baseline(Baseline& library, const Problem& p) const;
  std::vector<Competitor> contestants(const Problem& p);
  void turn(Competitor& contestant, std::size_t set, bool counts) const;
  void take_turns(std::vector<Competitor>& all) const;

  ContestSetting setting;
  Context context;
  DeviceProfile profile;
  DeviceRates rates;
  std::unique_ptr<DeviceTier> tuned;
  std::unique_ptr<Measurer> measurer;
  std::unique_ptr<Compilers> compilers;
  std::vector<std::unique_ptr<Baseline>> baselines;
  std::vector<BatchOperands> sets;
};

void Contest::Impl::fill_operands(const Problem& p) {
  const double set_bytes = minimum_bytes(p);
  const double wanted = std::min(std::ceil(kPastCache * last_level_cache_bytes() / set_bytes),
                                 std::floor(kMostOperandBytes / set_bytes));
  sets.clear();
  sets.resize(static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostSets))));
  Random random(7);
  for (BatchOperands& set : sets) {
    set.a = random_operand(p.types.a, span_a(p), random);
    set.b = random_b(p.types, span_b(p), random);
    set.quantization = random_quantization(p, random);
    set.c.assign(static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)), 0);
    if (any(p.epilogue))
      set.vectors = ones(epilogue_type(p.types), std::max({p.m, p.n, span_c(p)}));
  }
}

Competitor Contest::Impl::whole_call(const std::string& name, const Problem& p,
                                     std::function<void(const GemmCall&)> call) const {
  return {.name = name, .detail = {}, .run = [=](const BatchOperands& operands) {
            const double start = now_ns();
            call({.problem = p,
                  .a = operands.a.data(),
                  .b = operands.b.data(),
                  .c = const_cast<char*>(operands.c.data()),
                  .epilogue = {operands.vectors.data(), operands.vectors.data(),
                               operands.vectors.data(), operands.vectors.data(), p.ldc, p.stride_c},
                  .scales = operands.quantization.scales.data(),
                  .zero_points = operands.quantization.zero_points.data()});
            return now_ns() - start;
          }};
}

Competitor Contest::Impl::kernel(const std::string& name, const Problem& p,
                                 const Variant& variant) {
  const auto pack_ns = std::make_shared<double>(0);
  return {.name = name,
          .detail = short_name(variant),
          .run =
              [=, this](const BatchOperands&) {
                const TimeReply reply =
                    measurer->time({.variant = variant,
                                    .problem = p,
                                    .samples = 1,
                                    .limit_ns = setting.limit_s * 1e9,
                                    .rotate_bytes = kPastCache * last_level_cache_bytes()});
                if (reply.kernel_ns.empty())
                  fail(ErrorCode::kTimeout, "estimated at {:.1f} s, beyond the limit of {:.1f} s",
                       reply.estimate_ns * 1e-9, setting.limit_s);
                *pack_ns = reply.pack_ns;
                return reply.kernel_ns.front();
              },
          .pack_ns = pack_ns};
}

// Compiled by a thread, because a driver may never return, before the first turn of the problem.
void Contest::Impl::add_further_kernels(const Problem& p, std::vector<Competitor>& all) {
  for (const Variant& variant : setting.kernels) compilers->add(variant, p);
  compilers->start(std::max(1u, std::thread::hardware_concurrency()));
  int number = 0;
  for (const Variant& variant : setting.kernels) {
    Competitor& further = all.emplace_back(kernel(fmt::format("kernel_{}", ++number), p, variant));
    try {
      if (const auto why = why_illegal(variant, profile.limits, p))
        fail(ErrorCode::kUnsupported, "is illegal here: {}", *why);
      compilers->provide(*measurer, variant, p);
    } catch (const Error& error) {
      further.skipped = error.what();
    }
  }
}

// The device tier with a single kernel in its list.
Competitor Contest::Impl::device_call(const std::string& name, const Problem& p,
                                      const Variant& variant,
                                      std::shared_ptr<KernelRun> kernel_run) const {
  auto tier = std::make_shared<std::unique_ptr<DeviceTier>>();
  Competitor contestant = whole_call(name, p, [=, this](const GemmCall& call) {
    if (*tier == nullptr) {
      if (kernel_run->ns == 0)
        fail(ErrorCode::kTimeout, "its kernel did not run: {}", kernel_run->why_not);
      const Signature signature = signature_of(call.problem);
      // The tier refuses a kernel whose hash is not that of the shader it generates.
      const TunedKernel only = {.candidate = {.hash = emit_gemm(variant, signature).hash,
                                              .signature = to_string(signature),
                                              .variant = variant},
                                .problem = call.problem,
                                .kernel_ns = kernel_run->ns};
      *tier = std::make_unique<DeviceTier>(
          profile, rates, KernelRanking(profile.limits, {}, {only}), default_cache_folder());
    }
    (*tier)->gemm(call);
  });
  contestant.detail = short_name(variant);
  return contestant;
}

void Contest::Impl::add_device(const std::string& name, const Problem& p, const Variant& variant,
                               std::vector<Competitor>& all) {
  const auto kernel_run = std::make_shared<KernelRun>();
  Competitor timed = kernel(name + "_kernel", p, variant);
  timed.run = [kernel_run, inner = timed.run](const BatchOperands& operands) {
    try {
      return kernel_run->ns = inner(operands);
    } catch (const Error& error) {
      kernel_run->why_not = error.what();
      throw;
    }
  };
  all.push_back(std::move(timed));
  all.push_back(device_call(name, p, variant, kernel_run));
}

// Has a measurer of its own, so that the other types' operands stay allocated between the turns.
void Contest::Impl::add_other_types(const Problem& p, std::vector<Competitor>& all) const {
  const auto ranked = tuned->chooser()->ranked(p);
  const std::string contestant = "tuned_kernel_" + to_string(p.types);
  if (ranked.empty())
    fail(ErrorCode::kDatabase, "no kernel for {} is tuned; run `rooftile tune`", to_string(p));
  const Variant variant = ranked.front().candidate->variant;
  const auto own = std::make_shared<Measurer>(Device::open(profile));
  const double limit_ns = setting.limit_s * 1e9;
  all.push_back(
      {.name = contestant, .detail = short_name(variant), .run = [=](const BatchOperands&) {
         const TimeReply reply = own->time({.variant = variant,
                                            .problem = p,
                                            .samples = 1,
                                            .limit_ns = limit_ns,
                                            .rotate_bytes = kPastCache * last_level_cache_bytes()});
         if (reply.kernel_ns.empty()) fail(ErrorCode::kTimeout, "beyond the limit");
         return reply.kernel_ns.front();
       }});
}

// Uses as many sets as the measurer's kernels do, so that both find the same share in caches.
Competitor Contest::Impl::baseline(Baseline& library, const Problem& p) const {
  Competitor contestant = {.name = library.name(), .detail = {}, .run = {}};
  try {
    std::vector<HostOperands> operands;
    for (const BatchOperands& set : sets) operands.push_back({set.a.data(), set.b.data()});
    operands.resize(std::min(
        operands.size(), operand_sets(staged_problem(p), kPastCache * last_level_cache_bytes())));
    const auto turns = std::make_shared<BaselineRounds>(library, p, operands);
    contestant.detail = "by " + turns->clock();
    contestant.run = [this, turns](const BatchOperands&) {
      measurer->clocks().raise();
      return turns->next_ns();
    };
  } catch (const Error& error) {
    contestant.skipped = error.what();
  }
  return contestant;
}

std::vector<Competitor> Contest::Impl::contestants(const Problem& p) {
  std::vector<Competitor> all;
  const HostBlas& blas = HostBlas::get();
  const auto host = [&](const std::string& name, HostThreads threads) {
    all.push_back(whole_call(name, p, [&blas, threads](const GemmCall& call) {
      run_on_host(blas, call, threads == HostThreads::kAll ? Tier::kHost : Tier::kHost1);
    }));
  };
  host("openblas", HostThreads::kAll);
  host("openblas1", HostThreads::kOne);
  all.push_back(whole_call("auto", p, [this](const GemmCall& call) { context.gemm(call); }));
  all.back().detail = name(context.explain({.problem = p}).decision.tier);

  const auto ranked = tuned->chooser()->ranked(p);
  if (!ranked.empty()) {
    all.push_back(kernel("tuned_kernel", p, ranked.front().candidate->variant));
    all.push_back(whole_call("tuned", p, [this](const GemmCall& call) {
      GemmCall forced = call;
      forced.tier = TierChoice::kDevice;
      context.gemm(forced);
    }));
    all.back().detail = short_name(ranked.front().candidate->variant);
  }
  for (const auto& library : baselines) all.push_back(baseline(*library, p));
  for (const Types& types : setting.against) add_other_types(retyped(p, types), all);
  if (!setting.kernels.empty()) add_further_kernels(p, all);
  add_device("default", p, default_kernel(profile, staged_problem(p)), all);
  add_device("naive", p, fallback_variant(), all);
  return all;
}

void Contest::Impl::turn(Competitor& contestant, std::size_t set, bool counts) const {
  if (!contestant.skipped.empty()) return;
  try {
    if (contestant.last_ns < kWarmUpBelowNs)
      contestant.run(sets[(set + sets.size() - 1) % sets.size()]);
    contestant.last_ns = contestant.run(sets[set]);
    if (contestant.last_ns > setting.limit_s * 1e9)
      contestant.skipped = fmt::format("takes {:.1f} s, beyond the limit of {:.1f} s",
                                       contestant.last_ns * 1e-9, setting.limit_s);
    else if (counts)
      contestant.sample_ns.push_back(contestant.last_ns);
  } catch (const Error& error) {
    contestant.skipped = error.what();
  }
}

void Contest::Impl::take_turns(std::vector<Competitor>& all) const {
  for (Competitor& contestant : all) turn(contestant, 0, false);
  const double end = now_ns() + setting.seconds * 1e9;
  for (std::size_t round = 0; round < kMostSamples && (round < kFewestSamples || now_ns() < end);
       ++round)
    // Each round starts with a different contestant, so that none is always first or always
    // follows the same one.
    for (std::size_t i = 0; i < all.size(); ++i)
      turn(all[(round + i) % all.size()], (round + 1) % sets.size(), true);
}

Contest::Contest(const ContestSetting& setting) : impl_(std::make_unique<Impl>(setting)) {
  const std::vector<DeviceProfile> devices = wanted_devices();
  const Store store(setting.database, OpenMode::kReadOnly);
  for (const DeviceProfile& profile : devices) {
    const auto row = store.find_device(profile);
    if (!row) continue;
    impl_->profile = profile;
    const Calibration calibration = calibration_from_figures(store.latest_calibration(*row));
    impl_->rates = calibration.device;
    impl_->tuned =
        std::make_unique<DeviceTier>(profile, calibration.device,
                                     KernelRanking(profile.limits, calibration.device,
                                                   store.tuned_kernels(*row, kGeneratorVersion),
                                                   store.portfolio(*row, kGeneratorVersion)),
                                     default_cache_folder());
    const auto device = Device::open(profile);
    impl_->measurer = std::make_unique<Measurer>(device);
    impl_->compilers = std::make_unique<Compilers>(device);
    for (const std::string& name : setting.baselines)
      impl_->baselines.push_back(open_baseline(name, {.library = setting.baseline_library,
                                                      .device_uuid = profile.device_uuid,
                                                      .kind = profile.kind}));
    return;
  }
  fail(ErrorCode::kDatabase, "no device of this machine is tuned in {}; run `rooftile tune`",
       setting.database.string());
}

Contest::~Contest() = default;

const DeviceProfile& Contest::device() const { return impl_->profile; }

std::vector<std::string> Contest::baselines() const {
  std::vector<std::string> lines;
  for (const auto& one : impl_->baselines)
    lines.push_back(fmt::format("{}: {} on {}", one->name(), one->library(), one->device()));
  return lines;
}

ContestResult Contest::run(const Problem& problem) {
  impl_->fill_operands(problem);
  std::vector<Competitor> all = impl_->contestants(problem);
  impl_->take_turns(all);
  ContestResult result;
  for (const Competitor& contestant : all) {
    ContestantResult one{.name = contestant.name,
                         .time = {},
                         .skipped = contestant.skipped,
                         .detail = contestant.detail};
    if (one.skipped.empty()) {
      one.time = summarize(contestant.sample_ns);
      if (contestant.pack_ns != nullptr) {
        one.pack_ns = *contestant.pack_ns;
        if (one.name == "tuned_kernel" || one.name.starts_with("kernel_"))
          one.ratios = ratios_of(contestant, all, impl_->baselines);
      }
    }
    result.contestants.push_back(std::move(one));
  }
  return result;
}

}  // namespace rooftile
