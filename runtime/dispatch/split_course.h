// How the calls of one problem are divided over devices and the host: the prediction, and what
// measured calls have taught since.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/call/call.h"
#include "runtime/call/slices.h"
#include "runtime/execute/device_tier.h"
#include "runtime/model/split.h"

namespace rooftile {

/// One that computes parts of calls.
struct SplitWorker {
  DeviceTier* device = nullptr;  ///< Null: the host. Owned by the context.
  Tier tier = Tier::kHost;       ///< kSplit: another device than the context's own.
  std::string name = {};         ///< "llvmpipe", "host1"
};

struct SplitDecision {
  CutAlong along = CutAlong::kRows;
  std::vector<SplitWorker> workers = {};
  std::vector<Party> parties = {};  ///< Predictions of the workers, in the same order.
  SharedProcessors shared = {};
  SplitPlan plan = {};  ///< The best one; a single share is one worker alone.
  /// Predicted time of the call where it is not split and no other device takes part.
  double unsplit_ns = 0;
  bool always = false;      ///< The best split of two or more is the plan, even if it does not win.
  bool wins = false;        ///< Calls follow the plan.
  std::string reason = {};  ///< Why, or why not.
};

/// A plan must be predicted to take less than this share of the time of fewer workers, because
/// predictions err.
inline constexpr double kSplitPays = 0.95;

/// Chooses the plan, and says why. `unsplit` is the name of what computes the call otherwise. All
/// members but plan, wins and reason are given.
void choose_plan(SplitDecision& decision, const Problem& p, const std::string& unsplit);

/// "llvmpipe 1216, host 832 rows", of shares that some worker has computed.
std::string shares_text(const SplitDecision& decision, std::span<const PlannedShare> shares);

/// The plan of a problem and its corrections. Thread-safe.
class SplitCourse {
 public:
  explicit SplitCourse(SplitDecision decision);

  const SplitDecision& decision() const { return decision_; }
  std::vector<PlannedShare> shares() const;  ///< As the next call is divided.
  /// Takes note of a call that was divided so, with the time that each share took. Where shares did
  /// not end together, later calls are divided anew over the same workers. Returns true when they
  /// are.
  bool record(std::span<const PlannedShare> shares, std::span<const double> took_ns);

 private:
  static constexpr std::size_t kMost = 3;  ///< Number of measurements that count.
  /// Factors by which a worker took longer than predicted, the last ones.
  struct Factors {
    std::array<double, kMost> last = {1, 1, 1};
    std::size_t count = 0;
    double shortest() const;
  };

  const SplitDecision decision_;
  mutable std::mutex mutex_;
  std::vector<PlannedShare> shares_;
  std::vector<Factors> factors_;  // Of each worker.
  std::vector<double> applied_;   // The factors that shares_ were planned with.
  int calls_ = 0;                 // Of these shares.
  int moves_ = 0;                 // How often the shares were changed.
};

/// Plans of a context's problems. Thread-safe.
class SplitCourses {
 public:
  /// Returns null where there is none of this generation (ContextState).
  std::shared_ptr<SplitCourse> find(const Problem& p, const Guard& guard,
                                    std::uint64_t generation) const;
  /// Stores the course, in the place of one of another problem if need be.
  void store(const Problem& p, const Guard& guard, std::uint64_t generation,
             std::shared_ptr<SplitCourse> course);

 private:
  struct Entry {
    Problem problem = {};
    Guard guard = {};
    std::uint64_t generation = 0;
    std::shared_ptr<SplitCourse> course = nullptr;
  };
  static constexpr std::size_t kEntries = 256;
  static std::size_t slot(const Problem& p);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // Empty until something is stored.
};

}  // namespace rooftile
