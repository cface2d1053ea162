// What the accesses of a kernel's subgroups cost on GPUs, by arithmetic alone. Addresses are those
// of templates/; tests/generator/bank_conflicts_test.cpp checks that the text has the same
// expressions. All functions are pure.
//
// Shared memory has 32 banks of 4 bytes, each of which serves one word a clock (CUDA C++
// Programming Guide, "Shared Memory" of compute capability 5.x and later; AMD's LDS and Intel's
// SLM have as many, or 16). It serves 128 bytes together, a wavefront, which is a part of the
// subgroup where invocations access more than a word each. Lines of the first cache are NVIDIA's
// and RDNA's, of 128 bytes, which come in sectors of 32 (CUDA C++ Best Practices Guide, "Coalesced
// Access to Global Memory"); CDNA's and Intel's have 64.
#pragma once

#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

/// Wavefronts of shared memory or lines of a cache that one access of a subgroup takes, and the
/// fewest in which as many bytes fit. 0: there is no such access, or the driver chooses addresses.
struct Access {
  int taken = 0, fewest = 0;
  double excess() const { return fewest == 0 ? 1 : static_cast<double>(taken) / fewest; }
};

/// Of one operand the first access of each kind, in the subgroup of a workgroup where it costs the
/// most. The others have the same distances.
struct SharedAccess {
  Access stores;  ///< Wavefronts of a store of its tile to shared memory.
  Access loads;   ///< Of a load from there; of a matrix unit, of a fragment's first bytes.
};
struct OperandAccess : SharedAccess {
  Access lines;  ///< Lines of a load from memory, where rows begin at a line.
};

struct MemoryAccess {
  OperandAccess a, b;
  double shared_bytes = 0;  ///< That invocations load from shared memory for a multiply-add.
};

/// v must be legal for s. Subgroups have 32 invocations where the variant requires no size. What
/// the lanes of a vector kernel add up, and fragments on their way to C, lie side by side in shared
/// memory and do not count.
MemoryAccess memory_access(const Variant& v, const Signature& s);
/// The part of it that is quick to compute.
SharedAccess shared_access(const Variant& v, const Signature& s, Operand operand);

}  // namespace rooftile
