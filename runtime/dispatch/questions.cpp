// What the model is asked about a call, and what it is told of the device: the planner's questions,
// and the explanations of their answers.
#include "core/error.h"
#include "core/groups.h"
#include "generator/signature.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/pass_over_c.h"
#include "runtime/dispatch/planner.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {
namespace {

bool any_on_device(const Residencies& where) {
  return where.a == Residency::kDevice || where.b == Residency::kDevice ||
         where.c == Residency::kDevice;
}
bool in_host_memory(const Residencies& where) {
  return where.a == Residency::kHost && where.b == Residency::kHost && where.c == Residency::kHost;
}
bool all_resident(const Residencies& where) {
  return where.a != Residency::kHost && where.b != Residency::kHost &&
         where.c == Residency::kDevice;
}

/// Whether the host can widen the operands of float64 sums, where these are asked for.
bool host_widens(const Problem& p, const Residencies& where) {
  return !widens_sums(p.types) || (in_host_memory(where) && !is_grouped(p));
}

/// Time that the calibration measured on exactly this problem, if any.
std::optional<double> measured_ns(const HostRates& rates, const Problem& p) {
  Problem plain = packed_problem(p.m, p.n, p.k);
  plain.lda = p.lda, plain.ldb = p.ldb, plain.ldc = p.ldc;
  plain.alpha = p.alpha, plain.beta = p.beta;
  plain.types.rounding = p.types.rounding;
  if (p != plain) return std::nullopt;
  for (const auto* points : {&rates.gemv, &rates.gemm})
    for (const HostPoint& point : *points)
      if (point.m == static_cast<double>(p.m) && point.n == static_cast<double>(p.n) &&
          point.k == static_cast<double>(p.k) && point.gflops > 0)
        return flops(p) / point.gflops;
  return std::nullopt;
}

}  // namespace

Decision Planner::decide(const Problem& p, const Residencies& where, const Guard& guard,
                         const GemmCall* call) const {
  Call asked = question(p, where, guard);
  ask_device(asked, p, call);
  return rooftile::decide(asked, state_.model());
}

double Planner::host_ns_of(double bytes) const {
  const double gbps = state_.data.calibration.host.gbps;
  return gbps > 0 ? bytes / gbps : 0;
}

Call Planner::question(const Problem& p, const Residencies& where, const Guard& guard) const {
  Call question{.problem = is_grouped(p) ? equal_batch(p, filled_groups(p)) : p,
                .a = where.a,
                .b = where.b,
                .c = where.c,
                .host_in_float64 = precise_host(Tier::kHost, p.types, guard) == Tier::kHost64,
                .extra_passes_over_c = any(p.epilogue) ? 1.0 : 0.0,
                .c_is_checked = checks_spots(guard)};
  if (widens_sums(p.types)) {
    question.before_pass = tunable_problem(question.problem);
    question.pass_ns = host_ns_of(host_pass_bytes(p, question.before_pass->types));
  }
  const double guard_bytes = (scans(guard) ? scanned_bytes(question.problem) : 0) +
                             (checks_spots(guard) ? checked_bytes(question.problem) : 0);
  if (question.guard_ns = host_ns_of(guard_bytes); question.guard_ns > 0) {
    const auto checked = static_cast<double>(state_.checks.load(std::memory_order_relaxed));
    if (checked > 0)
      question.rerun_probability =
          static_cast<double>(state_.reruns.load(std::memory_order_relaxed)) / checked;
  }
  return question;
}

void Planner::ask_device(Call& question, const Problem& p, const GemmCall* call) const {
  const DeviceTier* const device = state_.device.get();
  if (device == nullptr) {
    question.device_veto = state_.data.note;
    question.device_veto_name = Veto::kNotTuned;
    return;
  }
  const Residencies where = {.a = question.a, .b = question.b, .c = question.c};
  if (!host_widens(p, where)) {
    question.device_veto = "float64 sums need a product of its own, of operands in host memory";
    question.device_veto_name = Veto::kFloat64;
    return;
  }
  ask_means(question, where, *device);
  if (question.device_veto.empty()) {
    question.max_binding_bytes =
        static_cast<double>(device->profile().limits.max_storage_buffer_range_bytes);
    DeviceTier::Refusal refusal = device->veto(question.problem);
    if (refusal.name != Veto::kDoesNotFit || !ask_for_parts(question, where)) {
      question.device_veto = std::move(refusal.reason);
      question.device_veto_name = refusal.name;
    }
    if (all_resident(where) || packed_operand(where))
      if (const auto kernels = ranked(question.problem, where, call); !kernels.empty())
        question.kernel_ns = kernels.front().expected_ns - question.pass_ns;
  }
  if (is_grouped(p)) ask_for_groups(question, p);
}

void Planner::ask_for_groups(Call& question, const Problem& p) const {
  const DeviceTier& device = *state_.device.get();
  std::vector<RankedChoice> kernels;
  if (device.chooser()->ranking().has_class(p)) kernels = ranked(p, {}, nullptr);
  if (!kernels.empty()) {
    question.kernel_ns = kernels.front().expected_ns;
    // No single product of the class need be tuned, and no pass over C is needed.
    if (question.device_veto_name == Veto::kNoKernel) {
      question.device_veto.clear();
      question.device_veto_name = Veto::kNone;
    }
    question.pass_ns = 0;
    question.before_pass = std::nullopt;
    question.pass_over = {};
  }
  if (!question.device_veto.empty()) return;
  // Experts may take more than the matrices of the batch, which shares a quantised one.
  DeviceTier::Refusal refusal = device.veto(p);
  question.device_veto = std::move(refusal.reason);
  question.device_veto_name = refusal.name;
}

void Planner::ask_means(Call& question, const Residencies& where, const DeviceTier& on) const {
  const Problem& p = question.problem;
  const KernelChoice choice = kernels_for(p, where, on);
  if (choice.means == Means::kNone) {
    question.device_veto = fmt::format("no kernel for {} is tuned on {}{}",
                                       to_string(signature_of(tunable_problem(p))),
                                       on.profile().name, why_not_certified(p, on));
    question.device_veto_name = Veto::kNoKernel;
  }
  if (choice.means == Means::kNone) return;
  question.pass_ns = choice.pass_ns;
  if (choice.means == Means::kHostPass) question.before_pass = choice.problem;
  question.pass_over = choice.pass_over;
}

bool Planner::ask_for_parts(Call& question, const Residencies& where) const {
  // Operands that do not fit cannot reside on the device.
  if (!in_host_memory(where)) return false;
  const std::vector<GemmCall> parts = slices_of({.problem = question.problem});
  const OperandPlaces places = {.c_is_checked = question.c_is_checked,
                                .max_binding_bytes = question.max_binding_bytes};
  for (const GemmCall& part : parts) {
    question.slices += 1;
    question.slice_transfers =
        question.slice_transfers +
        transfers(kernels_for(part.problem, {}, *state_.device.get()).problem, places,
                  state_.data.calibration.device);
  }
  return !parts.empty();
}

KernelChoice Planner::kernels_for(const Problem& p, const Residencies& where,
                                  const DeviceTier& on) {
  const KernelChooser& chooser = *on.chooser();
  if (!host_widens(p, where)) return {.problem = p};
  if (is_grouped(p)) return chooser.choose_on_device(staged_problem(p));
  if (all_resident(where)) return chooser.choose_on_device(p);
  KernelChoice choice = chooser.choose(p);
  // The host's pass is for operands in its memory.
  if (choice.means == Means::kHostPass && any_on_device(where)) return {.problem = p};
  // Operands are packed for kernels that the tuner measured.
  if (choice.means != Means::kTuned && packed_operand(where)) return {.problem = p};
  return choice;
}

std::vector<RankedChoice> Planner::ranked(const Problem& p, const Residencies& where,
                                          const GemmCall* call) const {
  if (state_.device == nullptr || !host_widens(p, where)) return {};
  const KernelChooser& chooser = *state_.device->chooser();
  if (call != nullptr && call->packed != nullptr) return chooser.ranked(*call);
  if (is_grouped(p)) return chooser.choose_on_device(staged_problem(p)).kernels;
  if (const std::optional<Operand> packed = packed_operand(where))
    return chooser.ranked_prepacked(p, *packed,
                                    all_resident(where) ? StagedCopies::kNo : StagedCopies::kYes);
  return all_resident(where) ? chooser.choose_on_device(p).kernels : chooser.ranked(p);
}

std::string Planner::best_kernel(const Problem& p, const Residencies& where,
                                 const GemmCall* call) const {
  const std::vector<RankedChoice> kernels = ranked(p, where, call);
  return kernels.empty() ? "" : short_name(kernels.front().candidate->variant);
}

std::string Planner::quick_kernel(const Problem& p, double margin_ns) const {
  if (state_.device == nullptr || state_.settings.while_compiling == WhileCompiling::kWait)
    return {};
  const Variant* const quick = state_.device->quick_kernel(p, margin_ns);
  return quick == nullptr ? "" : short_name(*quick);
}

std::string Planner::why_not_certified(const Problem& p, const DeviceTier& on) {
  const KernelChooser& chooser = *on.chooser();
  const bool may = chooser.may_certify(p);
  if (const std::string why = chooser.why_no_kernel(p); !why.empty() && !may) return ": " + why;
  if (chooser.on_demand() == nullptr) return ", and a deterministic context certifies none";
  return may ? "; calls that would gain by one have it certified" : ", and none could be certified";
}

std::string_view Planner::forced_device(const Problem& p, Veto veto) const {
  switch (veto) {
    case Veto::kNone:
    case Veto::kNothingToMultiply:
    case Veto::kDeviceNotCalibrated:
    case Veto::kHostNotCalibrated:
      return "runs";
    case Veto::kNoKernel:
      return state_.device->chooser()->may_certify(p) ? "certifies_first" : "fails";
    case Veto::kNotTuned:
    case Veto::kDoesNotFit:
    case Veto::kDeviceGone:
    case Veto::kFloat64:
    case Veto::kOther:
      break;
  }
  return "fails";
}

Explanation Planner::explain(const Request& r, const Residencies& given) const {
  const Problem& p = r.problem();
  if (r.tier == TierChoice::kDevice) state_.use_untuned_device();  // Else the decision says why.
  const DeviceTier* const device = state_.device.get();
  const bool packed = r.call->packed != nullptr;
  const Residencies where = packed ? residencies_of(*r.call) : given;
  const KernelChoice choice =
      device != nullptr ? kernels_for(p, where, *device) : KernelChoice{.problem = p};
  const Means means = choice.means;
  Explanation e{.decision = decide(p, where, r.guard, r.call),
                .forced = r.is_forced(),
                .float64_sums = widens_sums(p.types),
                .product = means == Means::kHostPass ? to_string(choice.problem.types) : "",
                .device_name = device != nullptr ? device->profile().name : "",
                .kernel = means == Means::kNone && !packed ? "" : best_kernel(p, where, r.call),
                .means = std::string(name(means)),
                .note = state_.data.note,
                .measured_host_ns = measured_ns(state_.data.calibration.host, p),
                .measured_host1_ns = measured_ns(state_.data.calibration.host1, p)};
  if (device != nullptr)
    e.measured_kernel_ns =
        device->chooser()->ranking().measured_ns(kernel_problem(tunable_problem(p)));
  std::optional<Plan> plan;
  if (r.tier == TierChoice::kDevice) {
    e.decision.tier = Tier::kDevice;
    e.forced_device = forced_device(p, e.decision.veto_name);
  } else if (r.is_forced()) {
    plan = on_host(r);
  } else if (in_host_memory(where)) {
    plan = predicted(r, choose_tier(r));
  }
  const Tier decided = e.decision.tier;
  const Tier without_plan =
      decided == Tier::kDevice ? decided : precise_host(decided, p.types, r.guard);
  e.decision.tier = plan ? plan->tier : without_plan;
  e.may_round_operands = p.types.rounding != Rounding::kNone && e.decision.tier == Tier::kDevice;
  e.for_precision = plan ? plan->reason == Reason::kPrecision : without_plan == Tier::kHost64;
  const Tier unsplit = e.decision.tier == Tier::kSplit ? plan->unsplit : e.decision.tier;
  if (is_grouped(p)) return e;  // Such a call waits for its kernel, and is not split.
  if (unsplit == Tier::kDevice && !all_resident(where) && !packed_operand(where))
    e.quick_kernel = quick_kernel(p, e.forced ? std::numeric_limits<double>::infinity()
                                              : e.decision.best_host_ns - e.decision.device_ns);
  const bool follows = e.decision.tier == Tier::kSplit;
  e.split = explain_split(r, follows, !in_host_memory(where));
  if (!follows) return e;
  const std::shared_ptr<SplitCourse> course = course_of(p, r.guard);
  const std::vector<PlannedShare> shares = course->shares();
  // One worker alone is no split, unless it is another device.
  if (shares.size() == 1) e.decision.tier = course->decision().workers[shares.front().party].tier;
  return e;
}

}  // namespace rooftile
