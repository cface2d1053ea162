// Packs an operand for the kernels that calls of certain sizes will run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/call/call.h"
#include "runtime/call/packed_operand.h"
#include "runtime/resident/resident.h"

namespace rooftile {

/// The call whose operand is packed: of the operand itself its place, of all else no pointer. alpha
/// and beta do not matter. sizes: further values of m (n, where A is packed) that calls will have.
struct PackRequest {
  GemmCall call;
  Operand operand = Operand::kB;
  std::vector<std::int64_t> sizes = {};
};

/// The problems of such calls: with each of the sizes, the call's own first, without what is 0.
std::vector<Problem> expected_problems(const PackRequest& request);

/// Compiles a certified kernel. Throws or gives null where it cannot be used.
using KernelSource =
    std::function<std::shared_ptr<const Kernel>(const CandidateRecord&, const Signature&)>;

/// What to pack an operand into.
struct PackingPlan {
  struct Panels {
    PackedFormat format;
    Problem problem;  // with which the kernel was chosen
    std::shared_ptr<const Kernel> kernel;
  };
  std::vector<Panels> panels = {};
  bool stored = false;      // and keep it as stored
  std::string kernel = {};  // short name of the one for the first problem; "" when there is none
};

/// For each problem the form that its fastest kernel reads, unless a form that another one reads
/// already costs it less than 2 %. The operand is kept as stored as well where calls of other sizes
/// would find no kernel otherwise. Nothing when no kernel was tuned. Throws what source throws for
/// a lost device and for want of memory.
PackingPlan plan_packing(const KernelRanking& ranking, const DeviceLimits& limits,
                         const std::vector<Problem>& problems, Operand operand,
                         const KernelSource& source);

/// The operand of a call where it lies on the device: in memory of its own if owned, else in the
/// caller's.
struct StoredOperand {
  ResidentCall call;
  MemoryUses uses = {};  // the caller's
  std::shared_ptr<DeviceMemory> values = nullptr, scales = nullptr, zero_points = nullptr;
  bool owned = false;
};
/// Copies the operand from host memory, with rows as staged calls have them.
StoredOperand upload_operand(Resident& resident, const GemmCall& call, Operand operand);

/// Runs the packing, waits for it, and gives the forms. Throws kOutOfMemory, kDevice, kTimeout,
/// kUnsupported; nothing is left then.
std::vector<PackedForm> pack_forms(Resident& resident, const StoredOperand& stored, Operand operand,
                                   const PackingPlan& plan);

/// For calls on buffers of this device. Where no kernel was tuned for them it is kept as stored.
std::shared_ptr<const PackedOperand> pack_resident(Resident& resident, const PackRequest& request,
                                                   const StoredOperand& stored,
                                                   std::uint64_t context);

/// Device memory that the packed operand takes.
std::uint64_t device_bytes(const PackedOperand& packed);

}  // namespace rooftile
