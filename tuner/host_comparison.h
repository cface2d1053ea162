// Comparison of a kernel with this machine's BLAS, and detection of disturbances by other programs.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/problem.h"

namespace rooftile {

/// One round: calls of the host's BLAS, directly followed by the kernel.
struct HostRound {
  double host_ns = 0;    ///< Time of one call.
  double kernel_ns = 0;  ///< Packing included.
  /// Share of the host's calls that was spent waiting (tuner/measure/processor_wait.h).
  double wait_share = 0;
};

struct HostComparison {
  double ratio = 0;  ///< The host's time over the kernel's, median of the rounds; 0: not compared.
  bool contended = false;  ///< Other programs used the processors, so the ratio is unreliable.
};

inline constexpr int kMostHostRounds = 7;

/// Evaluates the rounds. Rounds in which the host waited for more than a tenth of its processor
/// time are left out. The comparison is contended when less than half of the rounds remain (the
/// ratio is then that of all rounds), or when the host's median time is more than twice the
/// predicted one, which is the only sign of a hypervisor that runs other machines.
/// predicted_host_ns comes from the calibration, where the model supports such calls.
HostComparison host_comparison(std::span<const HostRound> rounds,
                               std::optional<double> predicted_host_ns);

/// Times the host's BLAS, operands warm, and the kernel in turns: on all threads, or on one where
/// that was faster in a round before them. time_kernel returns ns, or no value when the kernel
/// could not be timed, which ends the comparison as over() does. over() is called before every
/// round.
HostComparison compare_with_host(const Problem& p, std::optional<double> predicted_host_ns,
                                 const std::function<std::optional<double>()>& time_kernel,
                                 const std::function<bool()>& over);

}  // namespace rooftile
