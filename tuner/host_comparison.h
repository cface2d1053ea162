// A kernel beside the BLAS of this machine, and whether other programs disturbed the comparison.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/problem.h"

namespace rooftile {

/// One round: calls of the host's BLAS, and the kernel right after them.
struct HostRound {
  double host_ns = 0;     // of one call
  double kernel_ns = 0;   // packing included
  double wait_share = 0;  // of the host's calls (tuner/processor_wait.h)
};

struct HostComparison {
  double ratio = 0;  // the host's time over the kernel's, median of the rounds; 0: not compared
  bool contended = false;  // other programs had the processors: the ratio tells little
};

inline constexpr int kMostHostRounds = 7;

/// Rounds in which the host waited for more than a tenth of the processor time that it asked for
/// are left out. The comparison is contended when less than half of the rounds remain (the ratio is
/// then that of all rounds), or when the host's median time is more than twice the predicted one,
/// which is the only trace of a hypervisor that runs other machines. predicted_host_ns: from the
/// calibration, where the model knows such calls.
HostComparison host_comparison(std::span<const HostRound> rounds,
                               std::optional<double> predicted_host_ns);

/// Times OpenBLAS with all threads, operands warm, and the kernel in turns, after one untimed call
/// of the host. time_kernel returns ns, or nothing when the kernel could not be timed, which ends
/// the comparison as over() does. over() is asked before every round.
HostComparison compare_with_host(const Problem& p, std::optional<double> predicted_host_ns,
                                 const std::function<std::optional<double>()>& time_kernel,
                                 const std::function<bool()>& over);

}  // namespace rooftile
