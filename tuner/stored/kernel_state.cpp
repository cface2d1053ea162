#include "tuner/stored/kernel_state.h"

#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/version.h"

namespace rooftile {

KernelStates::KernelStates(Store& store, const DeviceProfile& device, RowId device_row)
    : store_(store), device_(device), device_row_(device_row) {
  for (const BlackListRecord& entry : store.black_listed(device_row))
    black_listed_.insert(entry.candidate);
}

KernelState KernelStates::of(const CandidateRecord& candidate, const Signature& signature) const {
  if (illegal_reason(candidate.variant, device_.limits, signature)) return KernelState::kUnusable;
  const CandidateRecord now = current(candidate.variant, signature);
  if (black_listed_.contains(now.id)) return KernelState::kUnusable;
  const std::optional<bool> verdict = store_.certificate(device_row_, now.id, kGeneratorVersion);
  if (!verdict) return KernelState::kStale;
  if (!*verdict) return KernelState::kUnusable;
  return now.hash == candidate.hash ? KernelState::kCertified : KernelState::kStale;
}

CandidateRecord KernelStates::current(const Variant& variant, const Signature& signature) const {
  CandidateRecord record = {.hash = emit_gemm(variant, signature).hash,
                            .signature = to_string(signature),
                            .variant = variant};
  record.id = store_.candidate_id(record);
  return record;
}

}  // namespace rooftile
