// Which kernel answers while the best one of a problem is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "generator/signature.h"
#include "runtime/kernel_ranking.h"

namespace rooftile {

/// How far a kernel is in this process. Ready: nothing has to be compiled for it; failed: it is not
/// used any more.
enum class Progress : std::uint8_t { kNone, kReady, kFailed };

/// Of a problem's ranked kernels, whose best one is not ready: the one that answers first, as far
/// as compiler_work and expected times tell. Nothing unless it is there at least twice as early as
/// the best one that has not failed, has its first result earlier, and takes at most margin_ns
/// longer for a product. progress: of each of the kernels. Pure.
std::optional<std::size_t> quick_kernel(std::span<const RankedChoice> ranked,
                                        std::span<const Progress> progress,
                                        const Signature& signature, double margin_ns);

}  // namespace rooftile
