#include "runtime/tuned/kernel_cache.h"

#include "generator/emit.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

/// A plain kernel is built once for each pass after it.
std::string name_of(const CandidateRecord& candidate, const Signature* pass) {
  return pass == nullptr ? candidate.hash
                         : fmt::format("{} before {}", candidate.hash, to_string(*pass));
}

}  // namespace

bool is_due_to_kernel(const Error& error, const Device& device) {
  return error.code() != ErrorCode::kOutOfMemory && !device.lost();
}

std::shared_ptr<const Kernel> KernelCache::kernel(const std::shared_ptr<Device>& device,
                                                  const CandidateRecord& candidate,
                                                  const Signature& signature, SumsIn sums,
                                                  const Check& check) {
  const Signature* const pass = sums == SumsIn::kWorkspace ? &signature : nullptr;
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[name_of(candidate, pass)];
  const Slot& plain = slots_[candidate.hash];  // One that has failed also fails before a pass.
  lock.unlock();
  const std::lock_guard building(slot.building);
  lock.lock();
  for (const Slot* used : {static_cast<const Slot*>(&slot), &plain})
    if (!used->failure.empty()) fail(ErrorCode::kUnsupported, "{}", used->failure);
  if (slot.kernel != nullptr) return slot.kernel;
  lock.unlock();
  try {
    // The certificate belongs to the kernel with that hash; the templates, or the database row, may
    // have changed since.
    const Signature plain_signature = pass != nullptr ? sums_signature(signature) : signature;
    if (emit_gemm(candidate.variant, plain_signature).hash != candidate.hash)
      fail(ErrorCode::kUnsupported,
           "the certified kernel is not the one that this version of Rooftile generates; run "
           "`rooftile tune`");
    const auto kernel =
        std::make_shared<const Kernel>(device, candidate.variant, signature, shaders, sums);
    if (check) check(kernel);
    lock.lock();
    return slot.kernel = kernel;
  } catch (const Error& error) {
    reject_after(*device, candidate, error, pass);
    throw;
  }
}

bool KernelCache::reject_after(const Device& device, const CandidateRecord& candidate,
                               const Error& error, const Signature* pass) {
  if (!is_due_to_kernel(error, device)) return false;
  if (reject(name_of(candidate, pass), error.what()))
    log_warning(fmt::format(
        "kernel '{}'{} fails on {} and is not used any more: {}", short_name(candidate.variant),
        pass != nullptr ? " with a pass over C" : "", device.profile().name, error.what()));
  return true;
}

bool KernelCache::reject(const std::string& hash, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[hash];
  if (!slot.failure.empty()) return false;
  slot.kernel = nullptr;
  slot.failure = reason;
  failed_in_ = ::getpid();
  ++failures_;
  return true;
}

bool KernelCache::has_failed(const std::string& hash) const {
  if (!any_failed()) return false;
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(hash);
  return slot != slots_.end() && !slot->second.failure.empty();
}

}  // namespace rooftile
