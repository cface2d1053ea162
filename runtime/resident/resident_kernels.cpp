#include "runtime/resident/resident_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/kernel/cache_fault.h"
#include "runtime/kernel/step_time.h"
#include "runtime/resident/operand_sources.h"
#include "runtime/verify/certify.h"

namespace rooftile {
namespace {

// Minimum rate of the fallback kernel, which runs only where no measurement is available. It is
// low, so that long calls are split finely enough. A software device on a processor is faster.
constexpr double kFallbackFlopsPerNs = 1.0;

/// Restricts the limits to what the operands' buffers support.
DeviceLimits as_far(DeviceLimits limits, const BufferUses& uses) {
  if (!uses.texels) limits.texel_buffer_r32 = limits.texel_buffer_rgba32 = false;
  return limits;
}

}  // namespace

ResidentKernels::ResidentKernels(std::shared_ptr<Device> device,
                                 std::shared_ptr<const KernelChooser> chooser,
                                 KernelHashes wrong_kernels, std::shared_ptr<KernelCache> cache,
                                 std::function<std::shared_ptr<Device>()> checking_device)
    : device_(std::move(device)),
      chooser_(std::move(chooser)),
      wrong_kernels_(std::move(wrong_kernels)),
      cache_(std::move(cache)),
      checking_device_(std::move(checking_device)) {}

void ResidentKernels::check(const std::shared_ptr<const Kernel>& kernel, const Signature& signature,
                            Use use) const {
  if (use == Use::kCertified) return;
  const std::shared_ptr<Device> checking = checking_device_();
  const auto there = checking == device_
                         ? kernel
                         : std::make_shared<const Kernel>(checking, kernel->variant(), signature,
                                                          cache_->shaders, kernel->sums());
  const bool fallback = use == Use::kFallback;
  const Certificate certificate =
      fallback ? check_edges(*checking, *there, signature) : certify(*checking, *there, signature);
  if (certificate.passed) return;
  if (fallback) fail(ErrorCode::kInternal, "it computes no right C: {}", certificate.detail);
  fail(ErrorCode::kInternal, "the pass over C for {} is wrong: {}", to_string(signature),
       certificate.detail);
}

std::shared_ptr<const Kernel> ResidentKernels::kernel(const CandidateRecord& candidate,
                                                      const Signature& signature, Use use) const {
  const SumsIn sums = use == Use::kBeforePass ? SumsIn::kWorkspace : SumsIn::kC;
  return cache_->kernel(device_, candidate, signature, sums,
                        [&](const std::shared_ptr<const Kernel>& compiled) {
                          check(compiled, signature, use);
                          device_->save_pipeline_cache();
                          say_cache_fault(*device_);
                        });
}

/// Tries kernels for one call until one can compute it.
class ResidentKernels::Search {
 public:
  Search(ResidentKernels& kernels, const OperandSources& sources, const DeviceLimits& limits,
         std::uint64_t workspace_bytes)
      : kernels_(kernels),
        sources_(sources),
        limits_(limits),
        signature_(signature_of(sources.stored().problem)),
        workspace_bytes_(workspace_bytes) {}

  const OperandSources& sources() const { return sources_; }
  const BoundCall& bound() const { return sources_.stored(); }
  const DeviceLimits& limits() const { return limits_; }
  const Signature& signature() const { return signature_; }
  /// Of the last kernel that could not; "" when each could.
  const std::string& last_failure() const { return last_failure_; }

  std::optional<ResidentProduct> attempt(const CandidateRecord& candidate, double expected_ns,
                                         Use use) {
    try {
      ResidentProduct product(kernels_.device_, kernels_.kernel(candidate, signature_, use),
                              sources_.bound_for(candidate.variant), expected_ns, kStepNs);
      if (product.workspace_bytes() <= workspace_bytes_) return product;
      last_failure_ = fmt::format("it takes a workspace of {} bytes, and {} are allowed",
                                  product.workspace_bytes(), workspace_bytes_);
    } catch (const Error& error) {
      if (!is_due_to_kernel(error, *kernels_.device_)) throw;
      last_failure_ = error.what();
      ++failures_;
    }
    return std::nullopt;
  }

  /// The first kernel of KernelChooser that can.
  std::optional<ResidentProduct> first_choice() {
    const KernelChooser& chooser = *kernels_.chooser_;
    for (const KernelChoice& choice :
         chooser.choices_on_device(bound().problem, sources_.where(limits_)))
      if (auto product = first_of(choice)) return product;
    return std::nullopt;
  }

 private:
  std::optional<ResidentProduct> first_of(const KernelChoice& choice) {
    const bool pass = choice.means == Means::kDevicePass;
    failures_ = 0;
    for (const RankedChoice& ranked : choice.kernels) {
      if (!sources_.can_run(ranked.candidate->variant)) continue;
      if (auto product = attempt(*ranked.candidate, ranked.expected_ns,
                                 pass ? Use::kBeforePass : Use::kCertified))
        return product;
      // Each of them has the same pass after it, and checking it takes a while.
      if (pass && failures_ == OnDemandKernels::kMostFailures) break;
    }
    return std::nullopt;
  }

  ResidentKernels& kernels_;
  const OperandSources& sources_;
  const DeviceLimits& limits_;
  const Signature signature_;
  const std::uint64_t workspace_bytes_;
  int failures_ = 0;
  std::string last_failure_;
};

std::optional<ResidentProduct> ResidentKernels::with_packed_experts(
    Search& search, const ResidentCall& call) const {
  if (call.packed == nullptr || !call.packed->experts_kernel) return std::nullopt;
  const auto& [variant, ns_per_flop] = *call.packed->experts_kernel;
  const BoundCall& bound = search.bound();
  if (illegal_reason(variant, search.limits(), bound.problem, bound.placement)) return std::nullopt;
  const std::string hash = emit_gemm(variant, search.signature()).hash;
  if (wrong_kernels_.contains(hash)) return std::nullopt;
  return search.attempt(
      {.hash = hash, .signature = to_string(search.signature()), .variant = variant},
      ns_per_flop * flops(bound.problem), Use::kFallback);
}

ResidentProduct ResidentKernels::choose(const ResidentCall& call, std::uint64_t workspace_bytes,
                                        const BufferUses& uses, AwaitCertificate await) {
  const Problem& p = call.problem;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
  if (call.groups != nullptr && !call.groups->on_device() && rows_of(call.groups->known) == 0)
    return {};
  const DeviceLimits limits = as_far(device_->profile().limits, uses);
  const OperandSources sources(call, *device_, limits);
  const auto choose_with = [&](const Types& types) {
    ResidentCall other = call;
    other.problem.types = types;
    return choose(other, workspace_bytes, uses, await);
  };
  const bool may_round = p.types.rounding != Rounding::kNone;
  if (may_round) {
    // No kernel that rounds reads a packed operand.
    const Types types = call.packed != nullptr ? unrounded(p.types)
                                               : chooser_->rounded_types(p, sources.where(limits));
    if (types != p.types) return choose_with(types);
  }
  const BoundCall& bound = sources.stored();
  if (bound.gathers_vectors && !uses.copies)
    fail(ErrorCode::kUnsupported,
         "scales and bias lie in several buffers that cannot be copied from: create them with "
         "VK_BUFFER_USAGE_TRANSFER_SRC_BIT, or put them into one");
  Search search(*this, sources, limits, workspace_bytes);
  if (auto product = with_packed_experts(search, call)) return *std::move(product);
  const bool certifies = chooser_->certifies(bound.problem);
  const auto obtain = [&] {
    chooser_->on_demand()->obtain(chooser_->ranking(), bound.problem, bound.placement, limits);
  };
  if (certifies && (is_grouped(p) || await == AwaitCertificate::kYes))
    obtain();
  else if (certifies)
    chooser_->on_demand()->request(chooser_->ranking(), bound.problem, bound.placement, limits);
  if (auto product = search.first_choice()) return *std::move(product);
  if (may_round) {
    Types less = p.types;
    less.rounding = p.types.rounding == Rounding::kInt8 ? Rounding::kHalf : Rounding::kNone;
    return choose_with(less);
  }
  const Variant fallback = fallback_variant();
  const auto refusal = [&](SumsIn sums) {
    return illegal_reason(fallback, limits, bound.problem, bound.placement, sums);
  };
  // A sum that is too long for the driver's loops is divided before a pass.
  const bool before_pass = refusal(SumsIn::kC) && !is_grouped(p) && !refusal(SumsIn::kWorkspace);
  const SumsIn sums = before_pass ? SumsIn::kWorkspace : SumsIn::kC;
  const Signature signature = compiled_signature(search.signature(), sums);
  const std::string hash = emit_gemm(fallback, signature).hash;
  std::string last_failure = search.last_failure();
  if (!sources.has_stored()) {
    last_failure = fmt::format(
        "no certified kernel reads the packed operand's layouts for this call{}; pack it again for "
        "such calls, or pass the original operand as well",
        last_failure.empty() ? "" : fmt::format(" and works ({})", last_failure));
  } else if (wrong_kernels_.contains(hash)) {
    last_failure = fmt::format(
        "'{}' is blocked or has failed its certification; see `rooftile "
        "db black-list`",
        short_name(fallback));
  } else if (const auto reason = refusal(sums)) {
    last_failure = *reason;
  } else if (auto product = search.attempt(
                 {.hash = hash, .signature = to_string(signature), .variant = fallback},
                 flops(bound.problem) / kFallbackFlopsPerNs,
                 before_pass ? Use::kBeforePass : Use::kFallback)) {
    return *std::move(product);
  } else {
    last_failure = search.last_failure();
  }
  if (certifies) {
    obtain();
    if (auto product = search.first_choice()) return *std::move(product);
  }
  fail(ErrorCode::kUnsupported, "no kernel computes {} on {} with its operands where they are: {}",
       to_string(p), device_->profile().name, last_failure);
}

}  // namespace rooftile
