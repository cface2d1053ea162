#include "runtime/resident_kernels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/cache_fault.h"
#include "runtime/fallback_check.h"
#include "runtime/log.h"
#include "runtime/operand_sources.h"
#include "runtime/step_time.h"

namespace rooftile {
namespace {

// The fallback is run only where nothing else is known: what it does at least, so that long
// products are split finely enough. A processor's software device does more.
constexpr double kFallbackFlopsPerNs = 1.0;

/// As far as the operands' buffers go.
DeviceLimits as_far(DeviceLimits limits, const BufferUses& uses) {
  if (!uses.texels) limits.texel_buffer_r32 = limits.texel_buffer_rgba32 = false;
  return limits;
}

}  // namespace

ResidentKernels::ResidentKernels(std::shared_ptr<Device> device, const KernelRanking* ranking,
                                 KernelHashes condemned, std::filesystem::path cache_folder,
                                 std::function<std::shared_ptr<Device>()> checking_device,
                                 std::shared_ptr<OnDemandKernels> on_demand)
    : device_(std::move(device)),
      ranking_(ranking),
      on_demand_(std::move(on_demand)),
      condemned_(std::move(condemned)),
      shader_cache_(std::move(cache_folder)),
      checking_device_(std::move(checking_device)) {}

std::shared_ptr<const Kernel> ResidentKernels::build(const CandidateRecord& candidate,
                                                     const Signature& signature,
                                                     Certified certified) const {
  // The certificate is of the kernel with that hash: templates, or the row, may have changed since.
  if (emit_gemm(candidate.variant, signature).hash != candidate.hash)
    fail(ErrorCode::kUnsupported,
         "what was certified is not the kernel that this Rooftile makes; run `rooftile tune`");
  if (certified == Certified::kNo)
    check_on(checking_device_(), candidate.variant, signature, shader_cache_);
  auto kernel =
      std::make_shared<const Kernel>(device_, candidate.variant, signature, shader_cache_);
  device_->save_pipeline_cache();
  say_cache_fault(*device_);
  return kernel;
}

std::shared_ptr<const Kernel> ResidentKernels::kernel(const CandidateRecord& candidate,
                                                      const Signature& signature,
                                                      Certified certified) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& known = slots_[candidate.hash];
    if (known == nullptr) known = std::make_shared<Slot>();
    slot = known;
  }
  const std::lock_guard building(slot->building);
  if (slot->kernel != nullptr) return slot->kernel;
  if (!slot->failure.empty()) fail(ErrorCode::kUnsupported, "{}", slot->failure);
  try {
    slot->kernel = build(candidate, signature, certified);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory || device_->lost()) throw;
    slot->failure = error.what();
    log_warning(fmt::format("kernel '{}' fails on {} and is not used any more: {}",
                            short_name(candidate.variant), device_->profile().name, error.what()));
    throw;
  }
  return slot->kernel;
}

ResidentProduct ResidentKernels::choose(const ResidentCall& call, std::uint64_t workspace_bytes,
                                        const BufferUses& uses) {
  const Problem& p = call.problem;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
  const DeviceLimits limits = as_far(device_->profile().limits, uses);
  const OperandSources sources(call, *device_, limits);
  const BoundCall& bound = sources.stored();
  if (bound.gathers_vectors && !uses.copies)
    fail(ErrorCode::kUnsupported,
         "scales and bias lie in several buffers that cannot be copied from: create them with "
         "VK_BUFFER_USAGE_TRANSFER_SRC_BIT, or put them into one");
  const Signature signature = signature_of(bound.problem);

  std::string last_failure;
  const auto attempt = [&](const CandidateRecord& candidate, double expected_ns,
                           Certified certified) -> std::optional<ResidentProduct> {
    try {
      ResidentProduct product(device_, kernel(candidate, signature, certified),
                              sources.bound_for(candidate.variant), expected_ns, kStepNs);
      if (product.workspace_bytes() <= workspace_bytes) return product;
      last_failure = fmt::format("it takes a workspace of {} bytes, and {} are allowed",
                                 product.workspace_bytes(), workspace_bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kOutOfMemory || device_->lost()) throw;
      last_failure = error.what();
    }
    return std::nullopt;
  };
  const auto first_of = [&](const std::vector<RankedChoice>& kernels) {
    std::optional<ResidentProduct> product;
    for (const RankedChoice& ranked : kernels)
      if ((product = attempt(*ranked.candidate, ranked.expected_ns, Certified::kYes))) break;
    return product;
  };
  if (ranking_ != nullptr)
    if (auto product = first_of(sources.ranked(*ranking_, limits))) return *std::move(product);
  const bool certifies =
      ranking_ != nullptr && on_demand_ != nullptr && !ranking_->has_class(bound.problem);
  const auto certified = [&] {
    return first_of(on_demand_->ranked(*ranking_, bound.problem, bound.placement, limits));
  };
  if (certifies) {
    on_demand_->request(*ranking_, bound.problem, bound.placement, limits);
    if (auto product = certified()) return *std::move(product);
  }
  const Variant fallback = fallback_variant();
  const std::string hash = emit_gemm(fallback, signature).hash;
  if (!sources.has_stored()) {
    if (last_failure.empty())
      last_failure =
          "no certified kernel reads the packed operand's panels for this call, which does not "
          "give "
          "the operand as stored";
  } else if (condemned_.contains(hash)) {
    last_failure = fmt::format(
        "'{}' is black-listed or has failed its certificate; see `rooftile "
        "db black-list`",
        short_name(fallback));
  } else if (const auto reason = illegal_reason(fallback, limits, bound.problem, bound.placement)) {
    last_failure = *reason;
  } else if (auto product =
                 attempt({.hash = hash, .signature = to_string(signature), .variant = fallback},
                         flops(bound.problem) / kFallbackFlopsPerNs, Certified::kNo)) {
    return *std::move(product);
  }
  if (certifies) {
    on_demand_->wait();
    if (auto product = certified()) return *std::move(product);
  }
  fail(ErrorCode::kUnsupported, "no kernel computes {} on {} with its operands where they are: {}",
       to_string(p), device_->profile().name, last_failure);
}

}  // namespace rooftile
