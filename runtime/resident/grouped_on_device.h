// A grouped GEMM on operands in host memory, computed on the device.
#pragma once

#include "runtime/call/grouped_call.h"
#include "runtime/resident/resident.h"

namespace rooftile {

/// Computes a validated call that has rows: copies the rows of the groups and the B of the experts
/// that they use to the device, and C back. C is untouched when this throws, as Resident::gemm and
/// Resident::wait_for do.
void run_grouped_on_device(Resident& resident, const GroupedCall& call);

}  // namespace rooftile
