// The B of all experts of a grouped GEMM, packed once for the calls that use them.
#pragma once

#include <memory>

#include "runtime/resident/packing.h"

namespace rooftile {

/// Packs them into the panels of the best kernel for groups of the problem's mean size that packs
/// B, and waits. Throws kUnsupported for a quantised B and where no kernel packs B; kOutOfMemory,
/// kDevice, kTimeout.
std::shared_ptr<const PackedOperand> pack_experts(Resident& resident, const StoredOperand& stored,
                                                  std::uint64_t context);

}  // namespace rooftile
