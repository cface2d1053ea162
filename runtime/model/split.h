// How one call is divided over several devices and the host so that all of them end together
// (docs/several-devices.md). Pure arithmetic on predicted times.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

/// Predicted time in ns of a part of a problem on the kernel that takes whole_ns for all of it: its
/// share of the multiply-adds, with the last waves and the edges of both. A kernel that is known on
/// the whole is known better on a part than any kernel on sizes that were not tuned.
double part_kernel_ns(double whole_ns, const Problem& whole, const Problem& part,
                      const Variant& kernel, double compute_units);

/// One that can compute a share of a call: a device, or the host with some number of threads.
struct Party {
  /// share_ns[i] is the predicted time in ns of (i + 1) / share_ns.size() of the call, for a party
  /// that works alone. Infinity: it cannot compute so much. Empty: it cannot take part.
  std::vector<double> share_ns = {};
  /// Number of this machine's processors that it keeps busy on average: the threads of the host or
  /// of a software device. Of any other device it is the share of the time for which a thread
  /// copies operands.
  double processors = 0;
  /// Parties with the same number are one resource, such as the host with all threads and with one.
  /// At most one of them takes part.
  int resource = 0;

  bool operator==(const Party&) const = default;
};

/// The processors that parties share.
struct SharedProcessors {
  double count = 1;
  /// Speed of each processor while all of them are busy, relative to one that is busy alone: below
  /// 1 where they share a core, a cache or the memory's bandwidth.
  double busy_speed = 1;
  double thread_ns = 0;  ///< What it takes to start one thread and to wait for its end.
};

/// A range of the dimension that is divided.
struct PlannedShare {
  std::size_t party = 0;  ///< Index into the parties.
  std::int64_t begin = 0, size = 0;
  double ns = 0;  ///< Predicted time, with the processors shared.

  bool operator==(const PlannedShare&) const = default;
};

struct SplitPlan {
  /// Consecutive ranges that cover the dimension, in the order of the parties. Empty: no party can
  /// compute the call.
  std::vector<PlannedShare> shares = {};
  double ns = std::numeric_limits<double>::infinity();  ///< Predicted time of the whole call.
};

/// How much longer each party takes than alone while all of them work: where together they keep
/// more processors busy than there are, each gets a part of them. A party that uses processors for
/// only a part of its time is slowed for that part.
std::vector<double> slowdowns(std::span<const Party> parties, const SharedProcessors& shared);

/// Divides `size` lines at multiples of `grain` over all of these parties, so that the last one
/// ends as early as possible. No shares where some party would get none, or cannot compute enough.
SplitPlan divide(std::span<const Party> parties, const SharedProcessors& shared, std::int64_t size,
                 std::int64_t grain);

/// Returns the division that is predicted to end first, among all choices of `least` or more
/// parties. With more than kMostParties only the fastest ones are considered.
SplitPlan best_split(std::span<const Party> parties, const SharedProcessors& shared,
                     std::int64_t size, std::int64_t grain, std::size_t least = 1);
inline constexpr std::size_t kMostParties = 8;

}  // namespace rooftile
