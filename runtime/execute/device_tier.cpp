#include "runtime/execute/device_tier.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/pass_over_c.h"
#include "runtime/host/host_pass.h"
#include "runtime/model/split.h"
#include "runtime/support/float_environment.h"
#include "runtime/tuned/quick_kernel.h"

namespace rooftile {
namespace {

// The part of the device's memory that calls of several threads may take for staged copies.
constexpr std::uint64_t kShareOfMemory = 8;

/// Bytes of the largest operand, and of all operands together with their packed copies.
struct Footprint {
  std::uint64_t largest = 0, total = 0;
};
Footprint footprint(const Problem& p) {
  const StagedBytes bytes = staged_bytes(kernel_problem(p));
  Footprint needed;
  for (const std::uint64_t operand : {bytes.a, bytes.b, bytes.c, bytes.scales, bytes.zero_points}) {
    needed.largest = std::max(needed.largest, operand);
    needed.total += 2 * operand;  // Packed operands may take as much memory again as A and B.
  }
  return needed;
}

/// Whether the C that `call` reads may be the C that `before` writes: slices along k accumulate in
/// one C.
bool may_read_result(const GemmCall& call, const GemmCall& before) {
  if (call.problem.beta == 0.0f) return false;
  if (call.c_array != nullptr || before.c_array != nullptr) return true;
  const auto end = [](const GemmCall& x) {
    return static_cast<const char*>(x.c) + span_c(x.problem) * bytes_of(x.problem.types.c);
  };
  return call.c < end(before) && before.c < end(call);
}

}  // namespace

DeviceTier::DeviceTier(DeviceProfile profile, DeviceRates rates, KernelRanking ranking,
                       std::filesystem::path cache_folder,
                       std::shared_ptr<OnDemandKernels> on_demand, double host_gbps)
    : profile_(std::move(profile)),
      rates_(std::move(rates)),
      compiled_(std::make_shared<KernelCache>(std::move(cache_folder))),
      room_(profile_.device_memory_bytes / kShareOfMemory),
      chooser_(std::make_shared<const KernelChooser>(profile_, rates_, std::move(ranking),
                                                     std::move(on_demand), compiled_, host_gbps)),
      kernels_(profile_, compiled_) {}

std::shared_ptr<const Kernel> DeviceTier::kernel(const CandidateRecord& candidate,
                                                 const Signature& signature) {
  return kernels_.kernel(candidate, signature,
                         [](const DeviceProfile&) { return BoundOperands{}; });
}

DeviceTier::Refusal DeviceTier::veto(const Problem& p) const {
  if (std::string gone = kernels_.gone(); !gone.empty())
    return {Veto::kDeviceGone, std::move(gone)};
  if (std::string large = does_not_fit(p); !large.empty())
    return {Veto::kDoesNotFit, std::move(large)};
  if (compiled_->any_failed())
    if (const auto kernels = chooser_->ranked(p); !kernels.empty() && all_failed(kernels))
      return {Veto::kNoKernel, fmt::format("every kernel of {} for it has failed: {}",
                                           profile_.name, kernels_.last_failure())};
  return {};
}

bool DeviceTier::fits(const Problem& p, int products) const {
  const Footprint needed = footprint(chooser_->choose(p).problem);
  return needed.largest <= largest_buffer_bytes(profile_.limits) &&
         needed.total <= profile_.device_memory_bytes / static_cast<std::uint64_t>(products);
}

std::string DeviceTier::does_not_fit(const Problem& p) const {
  if (fits(p)) return {};
  const Footprint needed = footprint(chooser_->choose(p).problem);
  const std::uint64_t most = largest_buffer_bytes(profile_.limits);
  if (needed.largest > most)
    return fmt::format("an operand of {} bytes exceeds the device's buffer limit of {}",
                       needed.largest, most);
  return fmt::format(
      "operands and packed operands of {} bytes do not fit the device's memory of {}", needed.total,
      profile_.device_memory_bytes);
}

std::shared_ptr<Device> DeviceTier::device() { return kernels_.device(); }

DeviceLink DeviceTier::link() {
  const std::shared_ptr<Device> device = kernels_.device();
  const std::lock_guard making(making_pool_);
  if (pool_ == nullptr) {
    pool_ = std::make_unique<BufferPool>(device);
    made_pool_ = pool_.get();
  }
  return {device, profile_, rates_, *pool_, imports_};
}

void DeviceTier::run(const RankedChoice& choice, const std::shared_ptr<const Kernel>& kernel,
                     const GemmCall& call, const SpotCheck* check) {
  // Destroyed last: where a call fails, this may wait for ever, and must hold neither room nor
  // lock.
  std::unique_ptr<DeviceProduct> product;
  std::optional<Mismatch> mismatch;
  StagingRoom::Place place = room_.enter(footprint(call.problem).total);
  std::unique_lock running(running_, std::defer_lock);
  // Copies beside the kernel of a software device would take processors and caches from it
  // (lavapipe, eight threads, 512x512x512: 15 % slower).
  const bool copies_beside = profile_.kind != DeviceKind::kSoftware;
  const auto stage = [&] {
    product = std::make_unique<DeviceProduct>(link(), kernel, choice.expected_ns, call, check);
    product->read_c();
  };
  try {
    if (!copies_beside) running.lock();
    try {
      stage();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory || running.owns_lock()) throw;
      // Other calls may hold the memory that this one lacks.
      place.become_alone();
      running.lock();
      stage();
    }
    if (!running.owns_lock()) running.lock();
    product->submit();
    product->wait();
    if (copies_beside) running.unlock();
    mismatch = product->collect();
    product = nullptr;
  } catch (const Error& error) {
    note(error, product.get());
    throw;
  }
  if (mismatch) throw SpotCheckFailed(*std::move(mismatch), choice.candidate->hash);
}

void DeviceTier::note(const Error& error, const DeviceProduct* product) {
  if (!kernels_.is_gone_after(error)) return;
  // The program may block from here on.
  if (product != nullptr && product->must_wait_for_device()) kernels_.warn_gone();
}

// The call may be over when the function is called; only the addresses of its operands are used
// then.
DeviceKernels::Bound DeviceTier::bound_like(const GemmCall& call) const {
  return [this, call](const DeviceProfile& device) { return bound_operands(call, device, rates_); };
}

DeviceTier::Chosen DeviceTier::choose(const GemmCall& call, Wait wait) {
  const KernelChoice choice = chooser_->choose(call.problem);
  if (choice.means == Means::kHostPass) return {};  // gemm() makes the pass.
  const Signature signature = signature_of(call.problem);
  const std::vector<RankedChoice> kernels = chooser_->ranked(choice);
  const DeviceKernels::Bound bound = bound_like(call);
  if (wait == Wait::kNo && !kernels_.ready(kernels, signature, bound)) return {};
  for (const RankedChoice& one : kernels)
    if (auto kernel = kernels_.kernel(*one.candidate, signature, bound))
      return {std::move(kernel), one.expected_ns};
  return {};
}

DeviceTier::PartKernel DeviceTier::part_kernel(const Problem& whole) const {
  const KernelChoice choice = chooser_->choose(whole);
  if (choice.means != Means::kTuned && choice.means != Means::kCertified) return {};
  const std::vector<RankedChoice> kernels = chooser_->ranked(choice);
  if (kernels.empty()) return {};
  return {.candidate = kernels.front().candidate, .whole_ns = kernels.front().expected_ns};
}

std::optional<double> DeviceTier::part_kernel_ns(const PartKernel& kernel, const Problem& whole,
                                                 const Problem& part) const {
  if (kernel.candidate == nullptr) return std::nullopt;
  const Problem staged = kernel_problem(part);
  const Variant& variant = kernel.candidate->variant;
  if (illegal_reason(variant, profile_.limits, staged, own_buffers(staged))) return std::nullopt;
  return rooftile::part_kernel_ns(kernel.whole_ns, whole, part, variant, rates_.compute_units);
}

std::vector<RankedChoice> DeviceTier::ranked(const KernelChoice& choice,
                                             const Problem* part_of) const {
  std::vector<RankedChoice> kernels = chooser_->ranked(choice);
  if (part_of == nullptr) return kernels;
  const PartKernel kernel = part_kernel(*part_of);
  const std::optional<double> ns = part_kernel_ns(kernel, *part_of, choice.problem);
  if (!ns) return kernels;
  std::erase_if(kernels, [&](const RankedChoice& one) {
    return one.candidate->hash == kernel.candidate->hash;
  });
  kernels.insert(kernels.begin(), {kernel.candidate, *ns});
  return kernels;
}

bool DeviceTier::ready(const GemmCall& call, const Problem* part_of) {
  const KernelChoice choice = chooser_->choose(call.problem);
  const std::vector<RankedChoice> kernels = ranked(choice, part_of);
  return !kernels.empty() &&
         kernels_.ready(kernels, signature_of(choice.problem), bound_like(call));
}

DeviceTier::InTurn DeviceTier::gemm_in_turn(std::span<const GemmCall> calls, WhileCompiling what) {
  const QuietFloats quiet;
  const Wait wait = what == WhileCompiling::kWait ? Wait::kBest : Wait::kNo;
  InTurn in_turn;
  // The call that the device computes now, and the next one. Calls that fail are destroyed
  // without the lock.
  std::unique_ptr<DeviceProduct> computed, next;
  const auto noting = [&](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      for (const DeviceProduct* product : {computed.get(), next.get()}) note(error, product);
      throw;
    }
  };
  const auto finish = [&] {
    computed->wait();
    computed->collect();
    computed = nullptr;
    ++in_turn.done;
  };
  const auto went_with = [&](const Error& error) {
    if (kernels_.is_gone_after(error) && !in_turn.gone) in_turn.gone = error;
  };
  try {
    for (const GemmCall& call : calls) {
      const Chosen chosen = choose(call, wait);
      if (chosen.kernel == nullptr) break;
      // The lock is released between calls, so that other threads get their turn.
      const std::lock_guard running(running_);
      noting([&] {
        next = std::make_unique<DeviceProduct>(link(), chosen.kernel, chosen.expected_ns, call);
        if (computed != nullptr && may_read_result(call, computed->call())) finish();
        if (computed != nullptr) computed->wait();
        next->read_c();
        next->submit();
        if (computed != nullptr) finish();
        computed = std::move(next);
      });
    }
    if (computed != nullptr) noting(finish);
  } catch (const Error& error) {
    went_with(error);
    // The code that computes the remaining calls finds and reports any other error. The call in
    // progress may have completed.
    try {
      if (computed != nullptr) noting(finish);
    } catch (const Error& later) {
      went_with(later);
    }
  }
  return in_turn;
}

DeviceTier::Ran DeviceTier::gemm(const GemmCall& call, Wait wait, double margin_ns,
                                 const SpotCheck* check, const Problem* part_of) {
  const QuietFloats quiet;
  if (call.packed != nullptr)
    return run_first(call, chooser_->ranked(call), wait, margin_ns, check);
  const Problem& p = call.problem;
  KernelChoice choice = chooser_->choose(p);
  // Each time around, a kernel is certified or has failed for good.
  for (bool more = chooser_->on_demand() != nullptr;
       more && (choice.means == Means::kNone || choice.may_improve);) {
    more = chooser_->request_kernel(p);
    if (choice.means == Means::kNone && wait == Wait::kNo) return {};
    if (choice.means != Means::kNone && wait != Wait::kBest) break;
    if (more) chooser_->on_demand()->wait();
    choice = chooser_->choose(p);  // Also where another thread's kernel was certified meanwhile.
  }
  if (choice.means == Means::kHostPass)
    return gemm_with_pass(call, std::move(choice), wait, margin_ns, check);
  return run_first(call, ranked(choice, part_of), wait, margin_ns, check);
}

DeviceTier::Ran DeviceTier::gemm_with_pass(const GemmCall& call, KernelChoice choice, Wait wait,
                                           double margin_ns, const SpotCheck* check) try {
  chooser_->request_kernel(call.problem);
  HostPass pass(call, choice.problem.types);
  choice.problem = pass.product().problem;  // With the strides of the call.
  const Ran ran = run_first(pass.product(), chooser_->ranked(choice), wait, margin_ns, check,
                            [&] { pass.prepare(); });
  if (ran) pass.finish();
  return ran;
} catch (const std::bad_alloc&) {
  fail(ErrorCode::kOutOfMemory, "the copies that {} needs do not fit into memory",
       to_string(call.problem));
}

DeviceTier::Ran DeviceTier::run_first(const GemmCall& call, std::span<const RankedChoice> kernels,
                                      Wait wait, double margin_ns, const SpotCheck* check,
                                      const std::function<void()>& before_run) {
  if (kernels.empty()) {
    const std::string refusal = chooser_->why_no_kernel(call.problem);
    fail(ErrorCode::kUnsupported, "no certified kernel of {} is legal for {}{}{}", profile_.name,
         to_string(tunable_problem(call.problem)),
         widens_sums(call.problem.types) ? ", which the precision asks for" : "",
         refusal.empty() ? "; run `rooftile tune` with this problem" : ": " + refusal);
  }
  const Signature signature = signature_of(call.problem);
  const DeviceKernels::Bound bound = bound_like(call);
  std::optional<Error> last;
  for (auto best = kernels.begin(); best != kernels.end();) {
    const std::span<const RankedChoice> rest(best, kernels.end());
    using Awaits = DeviceKernels::Awaits;
    const DeviceKernels::Next next =
        wait == Wait::kBest
            ? DeviceKernels::Next{.best = true}
            : kernels_.next(rest, signature, bound, margin_ns,
                            wait == Wait::kFirst ? Awaits::kFirst : Awaits::kNothing);
    if (!next.best && next.quick == nullptr) return {};
    const RankedChoice& choice = next.best ? *best++ : *next.quick;
    std::shared_ptr<const Kernel> kernel;
    try {
      kernel = kernels_.kernel(*choice.candidate, signature, bound);
    } catch (const Error& error) {
      last = error;
      if (error.code() == ErrorCode::kOutOfMemory || !kernels_.gone().empty()) break;
    }
    if (kernel == nullptr) continue;
    try {
      if (before_run) before_run();
      run(choice, kernel, call, check);
      return {.kernel = &choice.candidate->variant, .best = next.best};
    } catch (const SpotCheckFailed& error) {
      if (error.wrong()) kernels_.reject_after(*choice.candidate, error);
      throw;
    } catch (const Error& error) {
      last = error;
      if (error.code() == ErrorCode::kInvalidArgument)
        break;  // The next kernel would refuse it too.
      // A kernel that refuses this call still serves others.
      const bool refuses = error.code() == ErrorCode::kUnsupported;
      if (!refuses && !kernels_.reject_after(*choice.candidate, error)) break;
    }
  }
  if (last && last->code() == ErrorCode::kOutOfMemory) {
    const std::lock_guard making(making_pool_);
    if (pool_ != nullptr) pool_->trim();
  }
  if (last) throw *last;
  fail(ErrorCode::kDevice, "every kernel of {} for {} has failed: {}", profile_.name,
       to_string(call.problem), kernels_.last_failure());
}

const Variant* DeviceTier::quick_kernel(const Problem& p, double margin_ns) const {
  const KernelChoice choice = chooser_->choose(p);
  const std::vector<RankedChoice> kernels = chooser_->ranked(choice);
  const std::vector<Progress> none(kernels.size(), Progress::kNone);
  const auto quick = rooftile::quick_kernel(kernels, none, signature_of(choice.problem), margin_ns);
  return quick ? &kernels[*quick].candidate->variant : nullptr;
}

DeviceTierState DeviceTier::state() const {
  const BufferPool* const pool = made_pool_;
  return {.opened = kernels_.opened(),
          .lost = !kernels_.gone().empty(),
          .last_failure = kernels_.last_failure(),
          .imports = imports_,
          .staging_bytes = pool != nullptr ? pool->bytes() : 0,
          .most_staging_bytes = pool != nullptr ? pool->most_bytes() : 0};
}

}  // namespace rooftile
