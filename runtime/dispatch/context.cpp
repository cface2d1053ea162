// A call's way through its context: checks, the plan of its request, execution.
#include "runtime/dispatch/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "core/groups.h"
#include "generator/unit_operands.h"
#include "runtime/call/call_checks.h"
#include "runtime/call/packed_operand.h"
#include "runtime/dispatch/executor.h"
#include "runtime/dispatch/plan_cache.h"
#include "runtime/kernel/staging.h"
#include "runtime/resident/packing.h"
#include "runtime/support/float_environment.h"

namespace rooftile {
namespace {

std::string_view letter_of(Operand operand) { return operand == Operand::kA ? "a" : "b"; }

/// The sums of a call: float64 where its precision asks for more than its types have, float16 only
/// where both permit it.
Sums sums_of(const Types& types, const Guard& guard) {
  if (has_precise_sums(types)) return types.sums;
  if (needs_float64(guard)) return Sums::kF64;
  const bool permits_f16 = may_sum_in_f16(types) && precision_of(guard) != Precision::kHigh;
  return permits_f16 ? types.sums : Sums::kUsual;
}

/// The types of a call: with the sums that it gets, and with the permission to round operands that
/// the caller gives, by the precision or by the types.
Types permitted_types(const Request& r) {
  Types types = r.problem().types;
  types.sums = sums_of(types, r.guard);
  const Rounding by_types =
      precision_of(r.guard) == Precision::kHigh ? Rounding::kNone : types.rounding;
  types.rounding = rounding_of(types, std::max(permitted_rounding(r.guard), by_types));
  return types;
}

/// The same with the permission that the fastest kernel on the device uses. Where that is none,
/// *why_not becomes the reason; nullptr: it is not asked for.
Types types_of(const Request& r, const Residencies& where, const DeviceTier* device,
               std::string* why_not = nullptr) {
  const Types permitted = permitted_types(r);
  if (permitted.rounding == Rounding::kNone) return permitted;
  const auto plain = [&](std::string_view why, std::string_view types = "") {
    if (why_not != nullptr) *why_not = fmt::format("{}{}", why, types);
    return unrounded(permitted);
  };
  if (r.is_forced() && r.tier != TierChoice::kDevice) return plain("the host rounds none");
  if (packed_operand(where)) return plain("no kernel that rounds reads a packed operand");
  if (device == nullptr) return plain("no device is tuned");
  const KernelChooser& chooser = *device->chooser();
  Problem p = r.problem();
  p.types = permitted;
  const Types types = chooser.rounded_types(p);
  if (types.rounding != Rounding::kNone || why_not == nullptr) return types;
  if (chooser.rounds(p)) return plain("no kernel is faster with it");
  if (!has_rounding_kernels(device->profile().limits, permitted.rounding))
    return plain("the device has no units that multiply rounded operands");
  return plain("no kernel is tuned for it: tune these sizes with --type ", to_string(permitted));
}

/// What a call with a packed operand needs the operand itself for; "" when it does not.
std::string_view needs_operand(const Request& r) {
  if (widens_sums(r.problem().types)) return "the requested precision reads";
  if (r.is_forced() && r.tier != TierChoice::kDevice) return "the requested host tier reads";
  if (is_guarded(r.guard)) return "the scan, or the check of the result, reads";
  return {};
}

}  // namespace

PlanCache& PlanCache::of_this_thread() {
  static thread_local PlanCache cache;
  return cache;
}

struct Context::Impl {
  explicit Impl(const ContextOptions& options) : state(options) {}

  /// Runs a validated request, and keeps its answer for last_answer().
  void run(const Request& r);
  void run_without_packed(const Request& r);
  Types types_of(const Request& r) const {
    return rooftile::types_of(r, residencies_of(*r.call), state.device.get());
  }
  GemmCall with_types(const GemmCall& call, const Residencies& where,
                      std::string* why_not_rounded = nullptr) const {
    GemmCall asked = call;
    asked.problem.types =
        rooftile::types_of(planner.request(call), where, state.device.get(), why_not_rounded);
    return asked;
  }
  /// Device side that transfers and packs operands for calls on host memory.
  std::shared_ptr<Resident> packing_resident();
  std::function<void(const Problem&)> make_grouped_counter() const;

  ContextState state;
  Planner planner{state};
  Executor executor{state, planner};
  std::function<void(const Problem&)> grouped_counter = make_grouped_counter();
  std::mutex packing_mutex;
  /// Packs operands of a context on the program's own device; created when needed.
  std::shared_ptr<Resident> packing;
};

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Context::~Context() = default;

bool Context::gemm_again(const PlainCall& call) {
  ContextState& state = impl_->state;
  PlanCache& cache = PlanCache::of_this_thread();
  cache.last.context = 0;
  RepeatedCalls::Entry* const known =
      cache.repeated.find(call.product, state.generation.load(std::memory_order_relaxed));
  if (known == nullptr || !known->takes(call)) return false;
  const HostRoute& route = known->route();
  if (route.untuned_calls != nullptr) route.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  TierTimes& times = known->times();
  const Tier tier = times.open() ? times.next() : route.tier;
  const bool one_thread = tier == Tier::kHost1 || state.is_deterministic();
  const double start = times.open() ? now_ns() : 0;
  state.blas->gemm(call, one_thread ? HostThreads::kOne : HostThreads::kAll);
  if (times.open()) {
    const QuietArithmetic quiet;
    if (times.record_time(now_ns() - start) && state.log != nullptr)
      state.log->say_changed(problem_of(known->product()), times);
  }
  cache.last.set_repeated(state.id, known->product(), tier,
                          tier == route.tier ? route.reason : Reason::kMeasured);
  return true;
}

void Context::gemm(const GemmCall& call) {
  PlanCache::of_this_thread().last.context = 0;
  const bool packed = call.packed != nullptr;
  if (packed && call.packed->context != impl_->state.id)
    fail(ErrorCode::kInvalidArgument, "the packed operand belongs to another context");
  const bool unread = packed && (is_empty(call.problem) || !reads_operands(call.problem));
  const Request given = impl_->planner.request(call);
  const Types types = impl_->types_of(given);
  if (!unread && types == call.problem.types) {
    validate_call(call);
    return impl_->run(given);
  }
  GemmCall asked = call;
  asked.problem.types = types;
  if (unread) asked.packed = nullptr;
  validate_call(asked);
  impl_->run(impl_->planner.request(asked));
}

void Context::grouped(const GroupedCall& call) {
  PlanCache::of_this_thread().last.context = 0;
  validate_call(call);
  GemmCall of_rows = call.call;
  of_rows.problem.m = rows_of(call.groups);
  const Types types = impl_->types_of(impl_->planner.request(of_rows));
  std::optional<GroupedCall> changed;
  if (types != call.call.problem.types) {
    changed = call;
    changed->call.problem.types = of_rows.problem.types = types;
  }
  const GroupedCall& asked = changed ? *changed : call;
  impl_->run(impl_->planner.request(of_rows, &asked));
}

void Context::Impl::run(const Request& r) {
  const GemmCall& call = *r.call;
  const bool packed = call.packed != nullptr;
  const bool only_packed = gives_only_packed(call);
  const std::string_view need = packed ? needs_operand(r) : std::string_view();
  if (only_packed && !need.empty())
    fail(ErrorCode::kUnsupported,
         "{} is null and only its packed copy is given: {} the original operand",
         letter_of(call.packed->shape.operand), need);
  const bool on_host = r.is_forced() && r.tier != TierChoice::kDevice;
  if (packed && (on_host || widens_sums(r.problem().types))) return run_without_packed(r);

  PlanCache& cache = PlanCache::of_this_thread();
  const std::uint64_t generation = state.generation.load(std::memory_order_relaxed);
  PlanCache::Entry* entry = nullptr;
  Plan own;
  if (!PlanCache::keeps(r) || is_empty(r.problem())) {
    own = planner.plan(r);
  } else {
    entry = cache.find(r, generation);
    if (entry == nullptr) entry = cache.store(r, generation, planner.plan(r));
  }
  Plan& plan = entry != nullptr ? entry->plan : own;
  plan.generation = generation;

  if (!plan.reads_packed && only_packed)
    fail(ErrorCode::kUnsupported,
         "{} is null and only its packed copy is given, but the device cannot compute the call: {}",
         letter_of(call.packed->shape.operand), planner.cannot_use_packed(call));
  // What is slower there with nothing to move is slower with the operand to move as well.
  if (packed && (!plan.reads_packed || plan.tier != Tier::kDevice)) return run_without_packed(r);
  const Outcome outcome = executor.run(r, plan, packed ? nullptr : &cache.repeated);
  if (state.log != nullptr)
    state.log->say_answer(logged_problem(r), outcome,
                          packed_operand(outcome.where) ? about_packed(call) : "");
  if (r.grouped != nullptr)
    return cache.last.set(state.id, equal_batch(*r.grouped), nullptr, r.guard, outcome);
  const Problem* const kept = entry != nullptr ? &entry->problem : nullptr;
  if (!outcome.float64_sums) return cache.last.set(state.id, r.problem(), kept, r.guard, outcome);
  Problem answered = r.problem();
  answered.types = unrounded(answered.types);
  answered.types.sums = Sums::kF64;
  cache.last.set(state.id, answered, nullptr, r.guard, outcome);
}

void Context::Impl::run_without_packed(const Request& r) {
  const GemmCall plain = without_packed(*r.call);
  run(planner.request(plain));
}

std::shared_ptr<Resident> Context::Impl::packing_resident() {
  if (state.resident.adopted() == nullptr) return state.resident.get(state.device.get());
  // Calls on host memory do not run on the program's device.
  const std::lock_guard lock(packing_mutex);
  if (packing == nullptr)
    packing = std::make_shared<Resident>(state.device->device(), nullptr, KernelHashes{},
                                         state.device->kernel_cache(),
                                         std::function<std::shared_ptr<Device>()>());
  return packing;
}

std::shared_ptr<const PackedOperand> Context::pack(const PackRequest& request) {
  const auto packed = std::make_shared<PackedOperand>();
  packed->shape = shape_of(request.call.problem, request.operand);
  packed->context = impl_->state.id;
  DeviceTier* const device = impl_->state.device.get();
  const bool is_empty = packed->shape.rows == 0 || packed->shape.columns == 0;
  if (is_empty || device == nullptr) return packed;
  std::vector<Problem> problems;
  for (const Problem& p : expected_problems(request))
    if (device->fits(p)) problems.push_back(kernel_problem(p));
  try {
    const PackingPlan plan = plan_packing(
        device->chooser()->ranking(), device->profile().limits, problems, request.operand,
        [&](const CandidateRecord& candidate, const Signature& signature) {
          return device->kernel(candidate, signature);
        });
    if (plan.panels.empty() && !plan.stored) return packed;
    const std::shared_ptr<Resident> resident = impl_->packing_resident();
    packed->forms = pack_forms(*resident, upload_operand(*resident, request.call, request.operand),
                               request.operand, plan);
    packed->device = resident->device();
    packed->kernel = plan.kernel;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory || error.code() == ErrorCode::kInvalidArgument)
      throw;
    impl_->state.device_failed(*device, request.call.problem, error);
    packed->forms.clear();
  }
  return packed;
}

Explanation Context::explain(const GemmCall& call, const Residencies& where) const {
  std::string why_not_rounded;
  GemmCall asked = impl_->with_types(call, call.packed != nullptr ? residencies_of(call) : where,
                                     &why_not_rounded);
  Residencies given = where;
  if (widens_sums(asked.problem.types)) {
    // The original of a packed operand is read.
    asked.packed = nullptr;
    for (Residency* const x : {&given.a, &given.b})
      if (*x == Residency::kPacked) *x = Residency::kHost;
  }
  Explanation explanation = impl_->planner.explain(impl_->planner.request(asked), given);
  explanation.why_not_rounded = std::move(why_not_rounded);
  return explanation;
}

Explanation Context::explain_answer(const Answer& answer) const {
  // The call had its types, whatever the device is found to do by now.
  GemmCall call = {.problem = answer.problem, .guard = answer.guard};
  if (permitted_rounding(call.guard) != Rounding::kNone)
    call.guard.precision = Precision::kStandard;
  Explanation explanation = impl_->planner.explain(impl_->planner.request(call), answer.where);
  if (answer.kernel != nullptr) explanation.kernel = short_name(*answer.kernel);
  explanation.may_round_operands =
      answer.problem.types.rounding != Rounding::kNone && answer.tier == Tier::kDevice;
  explanation.split.shares = answer.shares;
  return explanation;
}

Decision Context::decide(const Problem& p, const Residencies& where) const {
  const GemmCall asked = impl_->with_types({.problem = p}, where);
  return impl_->planner.decide(asked.problem, where, impl_->planner.request(asked).guard);
}

Decision Context::decide(const OperationCall& operation) const {
  return decide_operation(operation, model());
}

Tier Context::predicted_tier(const Problem& p) {
  const GemmCall asked = impl_->with_types({.problem = p}, {});
  return impl_->planner.plan(impl_->planner.request(asked)).tier;
}

const DispatchModel& Context::model() const { return impl_->state.data.model; }

const std::string& Context::device_name() const {
  static const std::string none;
  return impl_->state.device != nullptr ? impl_->state.device->profile().name : none;
}

bool Context::expects_device() const { return impl_->state.expected != nullptr; }
const std::string& Context::note() const { return impl_->state.data.note; }

std::uint64_t Context::id() const { return impl_->state.id; }

std::optional<Answer> Context::last_answer() const {
  const LastAnswer& last = PlanCache::of_this_thread().last;
  if (last.context != impl_->state.id) return std::nullopt;
  return last.answer();
}

void Context::forget_last_answer() { PlanCache::of_this_thread().last.context = 0; }

std::shared_ptr<Resident> Context::resident() {
  return impl_->state.resident.get(impl_->state.device.get());
}

std::shared_ptr<Resident> Context::opened_resident() const {
  return impl_->state.resident.opened();
}

DeviceTierState Context::device_state() const {
  return impl_->state.device != nullptr ? impl_->state.device->state() : DeviceTierState{};
}

void Context::wait_for_certificates() const {
  if (impl_->state.device != nullptr && impl_->state.device->chooser()->on_demand() != nullptr)
    impl_->state.device->chooser()->on_demand()->wait();
  if (const auto resident = opened_resident()) resident->kernels().wait_for_certificates();
}

void Context::write_counts() noexcept {
  if (impl_->state.untuned != nullptr) impl_->state.untuned->write();
}

void Context::stop_counting() {
  impl_->state.counts = false;
  impl_->state.make_plans_void();  // They hold pointers to counters.
}

const std::function<void(const Problem&)>& Context::grouped_counter() const {
  return impl_->grouped_counter;
}

std::function<void(const Problem&)> Context::Impl::make_grouped_counter() const {
  if (state.untuned == nullptr) return [](const Problem&) {};
  std::vector<Bucket> tuned;
  std::ranges::copy_if(state.data.buckets, std::back_inserter(tuned),
                       [](const Bucket& b) { return b.groups_band >= 0; });
  return [log = std::weak_ptr(state.untuned), tuned = std::move(tuned),
          profile = state.data.profile](const Problem& p) {
    if (flops(p) == 0) return;
    Problem counted = p;
    counted.grouping = typical_grouping(p);
    if (profile) counted.types = types_on(profile->limits, counted.types);
    if (std::ranges::find(tuned, bucket_of(counted)) != tuned.end()) return;
    if (const auto counting = log.lock())
      if (auto* const calls = counting->counter(counted))
        calls->fetch_add(1, std::memory_order_relaxed);
  };
}

}  // namespace rooftile
