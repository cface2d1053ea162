// Whether a kernel of an older, another driver's or another machine's ranked list may still be
// good.
#pragma once

#include <set>

#include "core/device_profile.h"
#include "db/store.h"
#include "generator/signature.h"

namespace rooftile {

enum class KernelState : std::uint8_t {
  kUnusable,   // illegal, black-listed or refused here
  kStale,      // this generator makes another shader of it, or it has no verdict yet
  kCertified,  // certified here by this generator, with the shader that it makes now
};

/// The states of kernels on one device. Not thread-safe.
class KernelStates {
 public:
  KernelStates(Store& store, const DeviceProfile& device, RowId device_row);

  /// candidate: as the list has it; its hash may be of older templates.
  KernelState of(const CandidateRecord& candidate, const Signature& signature) const;
  /// What this generator makes of the variant: its hash and its row.
  CandidateRecord current(const Variant& variant, const Signature& signature) const;

 private:
  Store& store_;
  const DeviceProfile& device_;
  RowId device_row_;
  std::set<RowId> black_listed_;
};

}  // namespace rooftile
