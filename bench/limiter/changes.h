// Changes of one thing in the text of a kernel, for experiments on what limits it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/emit.h"

namespace rooftile {

/// One change of a kernel. What is repeated depends on `nothing`, a variable that is always 0,
/// which the compiler does not know; therefore it cannot leave the repetition out.
enum class Change : std::uint8_t {
  kNone,        ///< Nothing: the control.
  kArithmetic,  ///< Each product is added twice: C is doubled.
  kLoads,       ///< Each load of an operand is repeated from the same address.
  kLines,       ///< Operands lie with gaps of a vector behind each vector: twice the cache lines.
  kShared,      ///< Each read of a tile, and each access to the sums of lanes, in shared memory.
  kBarriers,    ///< Each barrier is repeated.
  kBroadcasts,  ///< Each broadcast to a subgroup is repeated.
  kStores,      ///< Each store of C, or of partial sums, is repeated.
  kLaunches,    ///< A kernel that ends at once; it is launched before the unchanged one.
  kSums,        ///< The partial sums of split-K are added twice. The kernel is unchanged.
  kIdle,        ///< Each workgroup is there twice, along z.
};
inline constexpr Change kChanges[] = {Change::kNone,       Change::kArithmetic, Change::kLoads,
                                      Change::kLines,      Change::kShared,     Change::kBarriers,
                                      Change::kBroadcasts, Change::kStores,     Change::kLaunches,
                                      Change::kSums,       Change::kIdle};

std::string_view name_of(Change change);

/// The kernel with the change, or nothing where it has nothing of the kind (tiles, barriers). The
/// hash is that of the new text. Throws kInternal for a text that this does not know, so that a
/// change of the templates is noticed.
std::optional<Shader> changed(const Shader& gemm, Change change);

}  // namespace rooftile
