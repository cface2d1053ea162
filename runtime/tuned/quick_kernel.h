// Choice of the kernel that answers while the best one of a problem is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "generator/signature.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// State of a kernel in this process. kReady: all its shaders are compiled. kFailed: it is not used
/// any more.
enum class Progress : std::uint8_t { kNone, kReady, kFailed };

/// Chooses, among a problem's ranked kernels whose best one is not ready, the kernel that answers
/// first, according to compiler_work and expected times. No value unless that kernel is ready in at
/// most half the time of the best one that has not failed, produces its first result earlier, and
/// takes at most margin_ns longer per call. `progress` holds the state of each kernel. Has no side
/// effects.
std::optional<std::size_t> quick_kernel(std::span<const RankedChoice> ranked,
                                        std::span<const Progress> progress,
                                        const Signature& signature, double margin_ns);

}  // namespace rooftile
