// Rankings of the last problems that were asked for. To rank a tuned set takes some 15 us, which a
// small product's call on the device would notice.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

/// Thread-safe. The ranking must outlive it.
class RecentRankings {
 public:
  explicit RecentRankings(const KernelRanking& ranking) : ranking_(ranking) {}

  /// As KernelRanking::ranked, with an operand as prepacked() describes it.
  std::vector<RankedChoice> ranked(const Problem& p, const Placement& placement,
                                   const DeviceLimits& limits,
                                   const PackedOperand* packed = nullptr,
                                   IsStored is_stored = IsStored::kNo);

 private:
  static constexpr std::size_t kEntries = 64;
  struct Question {
    Problem problem;
    Placement placement;
    DeviceLimits limits;
    std::uint64_t packed = 0;  ///< PackedOperand::id; 0: none.
    IsStored is_stored = IsStored::kNo;

    bool operator==(const Question&) const = default;
  };
  struct Entry {
    Question question;
    std::vector<RankedChoice> kernels;
  };

  const KernelRanking& ranking_;
  std::mutex mutex_;
  std::array<std::shared_ptr<const Entry>, kEntries> entries_;  ///< By slot_of().
};

}  // namespace rooftile
