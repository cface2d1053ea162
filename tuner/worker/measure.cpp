#include "tuner/worker/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "runtime/kernel/staging.h"
#include "runtime/kernel/step_time.h"
#include "runtime/model/counted.h"
#include "runtime/verify/certify_run.h"
#include "tuner/worker/panels.h"
#include "tuner/worker/shared_submission.h"

namespace rooftile {
namespace {

// Compiled kernels kept for a next request, on a software device a megabyte or more each. Finals
// and portfolios reuse fewer than that, and an exhaustive search reuses none of thousands. A GPU's
// finals come after a thousand kernels of all problems.
constexpr std::size_t kMostBuilt = 256, kMostBuiltOfGpu = 1024;
constexpr double kMostColdBytes = 1e9;  // Limit of memory that is written before a counted pass.
// More than the cost of most launches, and less than a watchdog's limit for a very slow candidate.
constexpr double kProbeTiles = 16;
// A few time slices of a scheduler; doubled each time.
constexpr std::chrono::milliseconds kFirstBackOff(20);

void refuse(const std::string& wrong) {
  if (!wrong.empty()) fail(ErrorCode::kInternal, "{}", wrong);
}

}  // namespace

Measurer::Measurer(std::shared_ptr<Device> device, std::shared_ptr<FreeProcessors> free,
                   std::shared_ptr<FullClocks> clocks, bool as_gpu)
    : device_(std::move(device)),
      software_(!as_gpu && device_->profile().kind == DeviceKind::kSoftware),
      free_(std::move(free)),
      clocks_(clocks != nullptr ? std::move(clocks) : std::make_shared<FullClocks>(device_)),
      cache_({}),
      operands_(device_, as_gpu ? std::optional(false) : std::nullopt) {}
Measurer::~Measurer() = default;

Measurer::Built& Measurer::slot(const Variant& variant, const Signature& signature) {
  Built& built = built_[to_string(variant) + " " + to_string(signature)];
  built.used = ++requests_;
  if (built_.size() > (software_ ? kMostBuilt : kMostBuiltOfGpu))
    built_.erase(
        std::ranges::min_element(built_, {}, [](const auto& entry) { return entry.second.used; }));
  return built;
}

void Measurer::adopt(std::unique_ptr<Kernel> kernel, const Signature& signature,
                     double compile_ns) {
  Built& built = slot(kernel->variant(), signature);
  built.statistics = all_statistics(kernel->executables());
  built.kernel = std::move(kernel);
  built.compile_ns = compile_ns;
}

Measurer::Built& Measurer::build(const Variant& variant, const Signature& signature) {
  Built& built = slot(variant, signature);
  if (built.kernel == nullptr) {
    const auto scope = spent_.during(Activity::kCompiling);
    const double start = now_ns();
    auto kernel = std::make_unique<Kernel>(device_, variant, signature, cache_);
    adopt(std::move(kernel), signature, now_ns() - start);
  }
  return built;
}

GemmPlan Measurer::plan_of(const Kernel& kernel, const Problem& p, const Placement& placement,
                           double max_flops) {
  if (!is_grouped(p)) return kernel.plan(p, placement, max_flops);
  return kernel.plan_grouped(p, placement, operands_.group_tiles(kernel.variant()), max_flops);
}

// Probes the problem's first few tiles. Drivers may compile at the first dispatch, and again for
// other operands, and a bad candidate may be a thousand times too slow; the probe shows both.
void Measurer::probe(Built& built, const Problem& p, const Operands& operands,
                     const Workspace& workspace, double compute_units) {
  const Variant& v = built.kernel->variant();
  const double tile_flops = 2.0 * v.tile_m * v.tile_n * static_cast<double>(p.k);
  const GemmPlan plan = plan_of(*built.kernel, p, operands.placement, kProbeTiles * tile_flops);
  const KernelSteps kernel = built.kernel->steps(plan, operands, workspace);
  const auto packs = static_cast<std::ptrdiff_t>(kernel.first_gemm);
  const auto probed = std::span(kernel.steps).first(kernel.first_gemm + 1);
  CommandList list = device_->record(probed, Timing::kPerStep);
  const double start = now_ns();
  device_->run(list, kWorkerTimeoutNs);
  const double first_ns = now_ns() - start;
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 2; ++repeat) {
    ProcessorTime used;
    const std::vector<double> step_ns = timed_run(probed, used);
    best = std::min(best, std::accumulate(step_ns.begin() + packs, step_ns.end(), 0.0));
    // A software device takes no longer than its threads do, but for waits behind other programs.
    if (software_) best = std::min(best, used.cpu_ns);
  }
  const double compile_ns = built.probed ? 0.0 : std::max(0.0, first_ns - best);
  spent_.shift(Activity::kCompiling, compile_ns * 1e-9);
  built.compile_ns += compile_ns;
  built.probed = p;
  built.occupancy = 0;
  const auto workgroups = [](const GemmStep& step) {
    return static_cast<double>(step.groups[0]) * step.groups[1] * step.groups[2];
  };
  double tiles = 0;
  for (const GemmStep& step : plan_of(*built.kernel, p, operands.placement).gemms)
    tiles += workgroups(step);
  const double probed_tiles = workgroups(plan.gemms.front());
  built.estimate_ns =
      best * tiles / std::clamp(compute_units, probed_tiles, std::max(tiles, probed_tiles));
}

std::vector<double> Measurer::times_of(std::span<const Step> steps, RunResult result) {
  spent_.shift(Activity::kKernels,
               1e-9 * std::accumulate(result.step_ns.begin(), result.step_ns.end(), 0.0));
  for (std::size_t i = 0; free_ != nullptr && i < result.step_ns.size(); ++i)
    if (const auto* dispatch = std::get_if<DispatchStep>(&steps[i]))
      result.step_ns[i] *= free_->to_all(static_cast<double>(dispatch->groups[0]) *
                                         dispatch->groups[1] * dispatch->groups[2]);
  return std::move(result.step_ns);
}

std::vector<double> Measurer::timed_run(std::span<const Step> steps, ProcessorTime& used) {
  CommandList list = device_->record(steps, Timing::kPerStep);
  const ProcessorTime before = software_ ? processor_time_now() : ProcessorTime();
  RunResult result = device_->run(list, kWorkerTimeoutNs);
  if (software_) used += processor_time_now() - before;
  return times_of(steps, std::move(result));
}

std::vector<Reading> Measurer::timed_together(std::vector<Step> before,
                                              std::vector<KernelSteps> calls) {
  const SharedSubmission all = one_submission(std::move(before), std::move(calls));
  ProcessorTime unused;
  const std::vector<double> step_ns = timed_run(all.steps, unused);
  std::vector<Reading> readings;
  for (const SharedSubmission::Call& call : all.calls) {
    const auto sum = [&](std::size_t from, std::size_t to) {
      const auto at = [&](std::size_t i) {
        return step_ns.begin() + static_cast<std::ptrdiff_t>(i);
      };
      return std::accumulate(at(from), at(to), 0.0);
    };
    readings.push_back(
        {.kernel_ns = sum(call.gemm, call.end), .pack_ns = sum(call.begin, call.gemm)});
  }
  return readings;
}

Reading Measurer::timed_call(Built& built, KernelSteps call) {
  auto packs = static_cast<std::ptrdiff_t>(call.first_gemm);
  Reading reading;
  ProcessorTime used;
  for (const std::vector<Step>& steps : submissions_of(std::move(call))) {
    const std::vector<double> step_ns = timed_run(steps, used);
    reading.pack_ns += std::accumulate(step_ns.begin(), step_ns.begin() + packs, 0.0);
    reading.kernel_ns += std::accumulate(step_ns.begin() + packs, step_ns.end(), 0.0);
    packs = 0;
  }
  const auto most = free_ != nullptr ? static_cast<double>(free_->free()) : built.occupancy;
  reading.busy_share = busy_share(used, std::min(built.occupancy, most));
  built.occupancy = std::max(built.occupancy, used.occupancy());
  return reading;
}

template <typename Call>
auto Measurer::with_room(Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory || !operands_.drop_others()) throw;
  } catch (const std::bad_alloc&) {
    if (!operands_.drop_others()) throw;
  }
  return call();
}

TimeReply Measurer::time(const TimeRequest& request) {
  spent_ = TimeAccount(Activity::kMeasuring);
  if (free_ != nullptr) {
    const auto scope = spent_.during(Activity::kQuietWaits);
    free_->begin();
  }
  TimeReply reply = with_room([&] { return time_now(request); });
  if (free_ != nullptr) free_->end();
  reply.seconds = spent_.seconds();
  return reply;
}

TimeReply Measurer::time_now(const TimeRequest& request) {
  const Problem p = staged_problem(request.problem);
  if (!request.code.empty()) device_->add_code(request.code);
  Built& built = build(request.variant, signature_of(p));
  if (request.spilled == Spilled::kDrop) {
    if (auto reason = spill_reason(compiler_facts(built.statistics)))
      return {.hash = built.kernel->hash(),
              .compile_ns = built.compile_ns,
              .statistics = built.statistics,
              .dropped_reason = std::move(reason)};
  }
  const Placement placement = own_buffers(p);
  {
    const auto scope = spent_.during(Activity::kOperands);
    operands_.prepare(p, request.rotate_bytes);
  }
  std::vector<Panels> panels;  // One of each operand set where they are packed before.
  for (std::size_t set = 0; set < (request.prepacked ? operands_.sets() : 1); ++set)
    panels.emplace_back(*device_, plan_of(*built.kernel, p, placement));
  const auto workspace = [&] { return panels[turn_ % panels.size()].workspace(); };
  {
    const auto scope = spent_.during(Activity::kClocks);
    clocks_->raise();
  }
  // A kernel that is wrong may also have written into the operands.
  const auto check = [&](auto&& wrong) {
    const auto scope = spent_.during(Activity::kChecks);
    const std::string what = wrong();
    if (!what.empty()) operands_.drop();
    refuse(what);
  };
  if (built.probed != p) {
    probe(built, p, operands_.operands(turn_, placement, request.variant), workspace(),
          request.compute_units);
    check([&] { return operands_.written_behind_c(); });
  }
  TimeReply reply{.hash = built.kernel->hash(),
                  .compile_ns = built.compile_ns,
                  .estimate_ns = built.estimate_ns,
                  .statistics = built.statistics};
  if (reply.estimate_ns > request.limit_ns) return reply;

  GemmPlan plan =
      plan_of(*built.kernel, p, placement, kStepNs * flops(p) / std::max(built.estimate_ns, 1.0));
  const auto packing_ns = [&] {
    const KernelSteps kernel = built.kernel->steps(
        plan, operands_.operands(turn_, placement, request.variant), workspace());
    if (kernel.first_gemm == 0) return 0.0;
    ProcessorTime unused;
    const std::vector<double> step_ns =
        timed_run(std::span(kernel.steps).first(kernel.first_gemm), unused);
    return std::accumulate(step_ns.begin(), step_ns.end(), 0.0);
  };
  std::vector<double> pack_ns;
  if (request.prepacked) {
    for (std::size_t set = 0; set < operands_.sets(); ++set, ++turn_)
      pack_ns.push_back(packing_ns());
    plan = without_packing(without_packing(std::move(plan), Operand::kA), Operand::kB);
  }
  // The operand set also changes from call to call; otherwise calls with one sample each would
  // always use the same two sets.
  const auto call = [&] {
    const Operands operands = operands_.operands(++turn_, placement, request.variant);
    return built.kernel->steps(plan, operands, workspace());
  };
  const auto complete = [&](Reading reading) {
    // Without packing, the steps before the kernel's clear partial sums.
    if (request.prepacked) reading.kernel_ns += std::exchange(reading.pack_ns, 0.0);
    reading.kernel_ns = std::max(reading.kernel_ns, 1.0);  // The timer may be coarser.
    return reading;
  };
  std::vector<Reading> taken;  // In one submission; the next one is the last.
  const auto take = [&] {
    if (taken.empty()) {
      {
        const auto scope = spent_.during(Activity::kChecks);
        operands_.overwrite_spots(turn_ + 1);
      }
      return complete(timed_call(built, call()));
    }
    Reading next = taken.back();
    taken.pop_back();
    return complete(next);
  };
  const double start = now_s();
  const auto runs = static_cast<std::size_t>(request.samples) + 1;
  // With beta a second run of one C would change it.
  const bool together = !software_ && plan.gemms.size() == 1 &&
                        static_cast<double>(runs) * built.estimate_ns <= kTogetherNs &&
                        (p.beta == 0.0f || runs <= operands_.sets());
  // An untimed run absorbs page faults of new packed operands, and the compilation of a reduction,
  // which the probe left out.
  if (together) {
    const std::vector<Step> before = operands_.overwriting_spots(turn_ + runs);
    std::vector<KernelSteps> calls;
    while (calls.size() < runs) calls.push_back(call());
    taken = timed_together(before, std::move(calls));
    std::ranges::reverse(taken);
    take();
  } else if (built.estimate_ns <= kLongProductNs || !plan.reduces.empty())
    take();
  else if (!request.prepacked)
    packing_ns();
  const SteadySamples samples =
      steady_samples(request.samples, retakes_.any() ? kMostRetakes : 0, take, [&](int before) {
        const auto scope = spent_.during(Activity::kQuietWaits);
        std::this_thread::sleep_for(kFirstBackOff * (1 << before));
      });
  retakes_.earn(now_s() - start - samples.lost_s);
  retakes_.spend(samples.lost_s);
  for (const Reading& reading : samples.readings) {
    if (!request.prepacked) pack_ns.push_back(reading.pack_ns);
    reply.kernel_ns.push_back(reading.kernel_ns);
  }
  reply.retaken = samples.retaken;
  reply.noisy = samples.noisy;
  reply.pack_ns = pack_ns.empty() ? 0.0 : median(pack_ns);
  check([&] { return operands_.check(turn_); });
  return reply;
}

CompileReply Measurer::compile(const Variant& variant, const Signature& signature) {
  const double start = now_ns();
  const Kernel kernel(device_, variant, signature, cache_);
  if (software_) {
    const std::vector<CertificationCase> cases =
        certification_cases(variant, signature, device_->profile().limits, kernel.sums());
    // Whether the result is right is for certificates to say.
    if (!cases.empty()) run_case(*device_, kernel, cases.front());
  }
  CompileReply reply{.compile_ns = now_ns() - start, .code = device_->take_code()};
  if (reply.code.size() > kMostCodeBytes) reply.code.clear();
  return reply;
}

CounterReadings Measurer::count(const CountRequest& request) {
  const Problem p = staged_problem(request.problem);
  const struct Forget {
    Measurer& measurer;
    ~Forget() {
      measurer.operands_.clear();
      measurer.built_.clear();
    }
  } forget{*this};
  const Kernel& kernel = *build(request.variant, signature_of(p)).kernel;
  const Placement placement = own_buffers(p);
  operands_.prepare(p, 0);
  const GemmPlan plan = plan_of(kernel, p, placement);
  const Panels panels(*device_, plan);
  const Operands operands = operands_.operands(0, placement, request.variant);
  const KernelSteps made = kernel.steps(plan, operands, panels.workspace());
  const std::span<const Step> all(made.steps), steps = all.subspan(made.first_gemm);
  run_steps(*device_, all.first(made.first_gemm));
  run_steps(*device_, steps);  // Drivers may compile at the first dispatch.
  // Each pass begins like a measured run, with no operand in a cache.
  const auto cold_bytes =
      static_cast<std::uint64_t>(std::min(request.rotate_bytes, kMostColdBytes));
  Buffer cold;
  CommandList chill;
  if (cold_bytes >= sizeof(std::uint32_t)) {
    const std::uint64_t whole_words = cold_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t);
    cold = device_->create_buffer(whole_words, BufferUse::kDevice);
    chill = device_->record(std::vector<Step>{ClearStep{{&cold, 0, whole_words}}});
  }
  return device_->count(steps, {.first = is_known}, kWorkerTimeoutNs,
                        cold.size_bytes() > 0 ? &chill : nullptr);
}

Certificate Measurer::certify(const Variant& variant, const Signature& signature,
                              const std::string& code) {
  if (!code.empty()) device_->add_code(code);
  return with_room(
      [&] { return rooftile::certify(*device_, *build(variant, signature).kernel, signature); });
}

}  // namespace rooftile
