// Calls with an operand that was packed before, and packing one for them.
#include <limits>
#include <utility>

#include "core/error.h"
#include "runtime/call_checks.h"
#include "runtime/context_impl.h"
#include "runtime/float_environment.h"
#include "runtime/packed_operand.h"
#include "runtime/packing.h"

namespace rooftile {
namespace {

std::string_view letter_of(Operand operand) { return operand == Operand::kA ? "a" : "b"; }

bool is_for_host(TierChoice choice, const Guard& guard) {
  return (choice != TierChoice::kAuto && choice != TierChoice::kDevice) ||
         (choice == TierChoice::kAuto && needs_float64(guard));
}

/// What a call needs the operand itself for; "" when it does not.
std::string_view needs_operand(TierChoice choice, const Guard& guard) {
  if (choice == TierChoice::kAuto && needs_float64(guard))
    return "the precision that was asked for needs the host, which multiplies";
  if (is_for_host(choice, guard)) return "the host, which was asked for, multiplies";
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
  if (packed.forms.empty()) return "no device computed such calls when it was packed";
  if (DeviceTier::Refusal refusal = device->veto(call.problem); !refusal.reason.empty())
    return std::move(refusal.reason);
  if (packed.device != device->device())
    return "it was packed for calls on buffers of the program's own device";
  if (device->ranked(call).empty())
    return fmt::format("no certified kernel of {} reads it for {}", device->profile().name,
                       to_string(call.problem));
  return {};
}

Decision Context::Impl::decide(const GemmCall& call, const Guard& guard) const {
  if (call.packed == nullptr) return decide(call.problem, {}, guard);
  const QuietArithmetic quiet;
  Call asked = question(call.problem, residencies_of(call), guard);
  ask_device(asked);
  if (device != nullptr)
    if (const std::vector<RankedChoice> kernels = device->ranked(call); !kernels.empty())
      asked.kernel_ns = kernels.front().expected_ns;
  return rooftile::decide(asked, data.model);
}

void Context::gemm_packed(const GemmCall& call) {
  LastAnswer& last = DecisionCache::of_this_thread().last;
  last.context = 0;
  const PackedOperand& packed = *call.packed;
  const Operand operand = packed.shape.operand;
  if (packed.context != impl_->id)
    fail(ErrorCode::kInvalidArgument, "the packed operand belongs to another context");
  GemmCall plain = call;
  plain.packed = nullptr;
  if (is_empty(call.problem) || !reads_operands(call.problem)) return gemm(plain);
  if (impl_->forbids_half_sums(call)) return gemm_packed(Impl::without_half_sums(call));
  validate_call(call);
  const bool has_plain = has_operand(call, operand);
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  const Guard guard = impl_->guard_of(call);
  if (choice == TierChoice::kDevice && needs_float64(guard)) Impl::refuse_device(guard);
  const bool for_host = is_for_host(choice, guard);
  if (const std::string_view need = needs_operand(choice, guard); !has_plain && !need.empty())
    fail(ErrorCode::kUnsupported, "{} is null, and only packed: {} the operand itself",
         letter_of(operand), need);
  const std::string cannot = for_host ? "" : impl_->cannot_use(packed, call);
  if (for_host || (has_plain && !cannot.empty())) return gemm(plain);
  if (!cannot.empty())
    fail(ErrorCode::kUnsupported,
         "{} is null, and only packed, but the device cannot compute it: {}", letter_of(operand),
         cannot);
  const bool forced = choice == TierChoice::kDevice;
  const Decision decision = impl_->decide(call, guard);
  // What is slower there with nothing to move is slower with the operand to move as well.
  if (has_plain && !forced && decision.tier != Tier::kDevice) return gemm(plain);
  impl_->run_packed(call, plain, has_plain, decision, last);
}

void Context::Impl::run_packed(const GemmCall& call, const GemmCall& plain, bool has_plain,
                               const Decision& decision, LastAnswer& last) {
  const Problem& p = call.problem;
  const Residencies where = residencies_of(call);
  const TierChoice choice = call.tier == TierChoice::kAuto ? tier : call.tier;
  const bool forced = choice == TierChoice::kDevice;
  const Reason chosen = forced ? Reason::kForced : Reason::kPredicted;
  constexpr double kAnyMargin = std::numeric_limits<double>::infinity();
  const auto answered = [&](Tier by, Reason reason, const Variant* kernel) {
    last.set(id, p, by, reason, kernel, where);
  };
  if (auto* const calls = untuned_counter(p, kAnyMargin))
    calls->fetch_add(1, std::memory_order_relaxed);
  const Guard guard = guard_of(call);
  if (is_guarded(guard)) return gemm_with_guard(call, guard, forced, last);
  const DeviceTier::Wait wait = has_plain ? wait_of(chosen) : DeviceTier::Wait::kBest;
  const bool must = forced || !has_plain;
  Reason reason = Reason::kCompiling;
  try {
    const double margin_ns = must ? kAnyMargin : device_margin_ns(decision);
    if (const DeviceTier::Ran ran = device->gemm(call, wait, margin_ns))
      return answered(Tier::kDevice, chosen, ran.kernel);
  } catch (const Error& error) {
    if (must) throw;
    device_failed(p, error);
    reason = Reason::kFailed;
  }
  run_on_host(plain, best_host(decision));
  answered(best_host(decision), reason, nullptr);
}

std::shared_ptr<Resident> Context::Impl::packing_resident() {
  if (resident->adopted() == nullptr) return resident->get(device.get());
  // Calls on host memory do not run on the program's device.
  const std::lock_guard lock(packing_mutex);
  if (packing == nullptr)
    packing = std::make_shared<Resident>(device->device(), std::nullopt, KernelHashes{},
                                         std::filesystem::path(),
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
    if (device->fits(p)) problems.push_back(effective(p));
  try {
    const PackingPlan plan =
        plan_packing(device->ranking(), device->profile().limits, problems, request.operand,
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
    impl_->device_failed(request.call.problem, error);
    packed->forms.clear();
  }
  return packed;
}

std::uint64_t Context::id() const { return impl_->id; }

}  // namespace rooftile
