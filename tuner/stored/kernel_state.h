// Usability of a kernel from a ranked list of an older generator, another driver or another
// machine.
#pragma once

#include <set>

#include "core/device_profile.h"
#include "db/store.h"
#include "generator/signature.h"

namespace rooftile {

enum class KernelState : std::uint8_t {
  kUnusable,   ///< Illegal, blocked or rejected here.
  kStale,      ///< This generator emits another shader for it, or it has no verdict yet.
  kCertified,  ///< Certified here by this generator, with the shader that it emits now.
};

/// States of kernels on one device. Not thread-safe.
class KernelStates {
 public:
  KernelStates(Store& store, const DeviceProfile& device, RowId device_row);

  /// `candidate` is as in the list; its hash may be that of older templates.
  KernelState of(const CandidateRecord& candidate, const Signature& signature) const;
  /// Returns the hash and row that this generator gives the variant.
  CandidateRecord current(const Variant& variant, const Signature& signature) const;

 private:
  Store& store_;
  const DeviceProfile& device_;
  RowId device_row_;
  std::set<RowId> black_listed_;
};

}  // namespace rooftile
