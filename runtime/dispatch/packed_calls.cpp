// Calls with an operand that was packed before, and packing one for them.
#include <limits>
#include <utility>

#include "core/error.h"
#include "runtime/call/call_checks.h"
#include "runtime/call/packed_operand.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/resident/packing.h"

namespace rooftile {
namespace {

std::string_view letter_of(Operand operand) { return operand == Operand::kA ? "a" : "b"; }

std::string about_packed(const GemmCall& call) {
  return fmt::format("packed {}", letter_of(call.packed->shape.operand));
}

bool is_for_host(TierChoice choice, const Guard& guard) {
  return (choice != TierChoice::kAuto && choice != TierChoice::kDevice) ||
         (choice == TierChoice::kAuto && needs_float64(guard));
}

/// What a call needs the operand itself for; "" when it does not.
std::string_view needs_operand(TierChoice choice, const Guard& guard) {
  if (choice == TierChoice::kAuto && needs_float64(guard))
    return "the requested precision needs the host, which reads";
  if (is_for_host(choice, guard)) return "the requested host tier reads";
  if (is_guarded(guard)) return "the scan, or the check of the result, reads";
  return {};
}

}  // namespace

Residencies residencies_of(const GemmCall& call) {
  Residencies where;
  if (call.packed == nullptr) return where;
  (call.packed->shape.operand == Operand::kA ? where.a : where.b) = Residency::kPacked;
  return where;
}

std::string Context::Impl::cannot_use(const PackedOperand& packed, const GemmCall& call) const {
  if (device == nullptr) return data.note;
  if (packed.forms.empty())
    return "no device computed such calls when it was packed; pass the operand itself, or tune for "
           "such calls and pack it again";
  if (DeviceTier::Refusal refusal = device->veto(call.problem); !refusal.reason.empty())
    return std::move(refusal.reason);
  if (packed.device != device->device())
    return "it was packed for calls on buffers of the program's own device";
  const std::vector<RankedChoice> kernels = device->chooser()->ranked(call);
  if (kernels.empty())
    return fmt::format("no certified kernel of {} reads it for {}; pack it again for such calls",
                       device->profile().name, to_string(call.problem));
  if (device->all_failed(kernels))
    return fmt::format("every kernel of {} that reads it for {} has failed ({}); pack it again",
                       device->profile().name, to_string(call.problem),
                       device->state().last_failure);
  return {};
}

Decision Context::Impl::decide(const GemmCall& call, const Guard& guard) const {
  if (call.packed == nullptr) return decide(call.problem, {}, guard);
  Call asked = question(call.problem, residencies_of(call), guard);
  ask_device(asked);
  if (device != nullptr)
    if (const std::vector<RankedChoice> kernels = device->chooser()->ranked(call); !kernels.empty())
      asked.kernel_ns = kernels.front().expected_ns;
  return rooftile::decide(asked, data.model);
}

CachedDecision Context::Impl::decide_packed(const GemmCall& call) const {
  if (const std::string why = cannot_use(*call.packed, call); !why.empty()) {
    if (log != nullptr) log->say_note(call.problem, about_packed(call) + " is not used: " + why);
    return {.reads_packed = false};
  }
  constexpr double kAnyMargin = std::numeric_limits<double>::infinity();
  const Decision decision = decide(call, {});
  if (log != nullptr)
    log->say(call.problem, decision,
             short_name(device->chooser()->ranked(call).front().candidate->variant), "",
             about_packed(call));
  return {.tier = decision.tier,
          .host = best_host(decision),
          .device_margin_ns = device_margin_ns(decision),
          .untuned_calls = untuned_counter(call.problem, kAnyMargin)};
}

void Context::gemm_packed(const GemmCall& call) {
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  const PackedOperand& packed = *call.packed;
  const Operand operand = packed.shape.operand;
  if (packed.context != impl_->id)
    fail(ErrorCode::kInvalidArgument, "the packed operand belongs to another context");
  const auto without_packed = [&] {
    GemmCall plain = call;
    plain.packed = nullptr;
    gemm(plain);
  };
  if (is_empty(call.problem) || !reads_operands(call.problem)) return without_packed();
  if (impl_->forbids_half_sums(call)) return gemm_packed(Impl::without_half_sums(call));
  validate_call(call);
  const bool has_plain = has_operand(call, operand);
  const TierChoice choice = impl_->choice_of(call);
  const Guard guard = impl_->guard_of(call);
  if (choice == TierChoice::kDevice && needs_float64(guard)) Impl::refuse_device(guard);
  if (const std::string_view need = needs_operand(choice, guard); !has_plain && !need.empty())
    fail(ErrorCode::kUnsupported,
         "{} is null and only its packed copy is given: {} the original operand",
         letter_of(operand), need);
  if (is_for_host(choice, guard)) return without_packed();
  const std::uint64_t owner = impl_->owner.load(std::memory_order_relaxed);
  DecisionCache::Entry* entry = cache.find(call.problem, owner, packed.id);
  if (entry == nullptr)
    entry = cache.store(call.problem, owner, impl_->decide_packed(call), packed.id);
  const CachedDecision& chosen = entry->decision;
  if (!chosen.reads_packed && !has_plain)
    fail(ErrorCode::kUnsupported,
         "{} is null and only its packed copy is given, but the device cannot compute the call: {}",
         letter_of(operand), impl_->cannot_use(packed, call));
  const bool forced = choice == TierChoice::kDevice;
  // What is slower there with nothing to move is slower with the operand to move as well.
  const bool host_is_faster = has_plain && !forced && chosen.tier != Tier::kDevice;
  if (!chosen.reads_packed || host_is_faster || !impl_->run_packed(call, *entry, cache.last))
    without_packed();
}

bool Context::Impl::run_packed(const GemmCall& call, const DecisionCache::Entry& entry,
                               LastAnswer& last) {
  const CachedDecision& decided = entry.decision;
  const bool has_plain = has_operand(call, call.packed->shape.operand);
  const bool forced = choice_of(call) == TierChoice::kDevice;
  const Reason chosen = forced ? Reason::kForced : Reason::kPredicted;
  const auto say_answer = [&](const Outcome& outcome) {
    if (log != nullptr) log->say_answer(call.problem, outcome, about_packed(call));
  };
  const auto answered = [&](Tier by, Reason reason, const Variant* kernel) {
    say_answer({.tier = by, .reason = reason, .kernel = kernel});
    last.set_decided(id, entry.problem, by, reason, kernel, residencies_of(call));
  };
  if (decided.untuned_calls != nullptr)
    decided.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  if (const Guard guard = guard_of(call); is_guarded(guard)) {
    const Outcome outcome = gemm_with_guard(call, guard, forced);
    say_answer(outcome);
    last.set(id, call.problem, outcome);
    return true;
  }
  const DeviceTier::Wait wait = has_plain ? wait_of(chosen) : DeviceTier::Wait::kBest;
  const bool must = forced || !has_plain;
  Reason reason = Reason::kCompiling;
  try {
    const double margin_ns =
        must ? std::numeric_limits<double>::infinity() : decided.device_margin_ns;
    if (const DeviceTier::Ran ran = device->gemm(call, wait, margin_ns)) {
      answered(Tier::kDevice, chosen, ran.kernel);
      return true;
    }
  } catch (const Error& error) {
    const bool is_gone = device->veto(call.problem).name != Veto::kNone;
    const bool is_unreadable = !cannot_use(*call.packed, call).empty();
    if (is_unreadable) owner.store(next_owner());
    if (has_plain && is_unreadable && !is_gone) return false;
    if (must) throw;
    device_failed(*device.get(), call.problem, error);
    reason = Reason::kFailed;
  }
  run_on_host(call, decided.host);
  answered(decided.host, reason, nullptr);
  return true;
}

std::shared_ptr<Resident> Context::Impl::packing_resident() {
  if (resident->adopted() == nullptr) return resident->get(device.get());
  // Calls on host memory do not run on the program's device.
  const std::lock_guard lock(packing_mutex);
  if (packing == nullptr)
    packing = std::make_shared<Resident>(device->device(), nullptr, KernelHashes{},
                                         device->kernel_cache(),
                                         std::function<std::shared_ptr<Device>()>());
  return packing;
}

std::shared_ptr<const PackedOperand> Context::pack(const PackRequest& request) {
  const auto packed = std::make_shared<PackedOperand>();
  packed->shape = shape_of(request.call.problem, request.operand);
  packed->context = impl_->id;
  DeviceTier* const device = impl_->device.get();
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
    impl_->device_failed(*impl_->device.get(), request.call.problem, error);
    packed->forms.clear();
  }
  return packed;
}

std::uint64_t Context::id() const { return impl_->id; }

}  // namespace rooftile
