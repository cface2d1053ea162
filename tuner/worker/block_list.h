// Candidates that may not run on a device: blocked ones, and unverified ones from the journal.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "db/store.h"

namespace rooftile {

class BlockList {
 public:
  /// Reads the device's blocked candidates and the journal entries of tuners that died.
  BlockList(Store& store, RowId device);

  bool blocked(RowId candidate) const { return blocked_.contains(candidate); }
  /// Whether the candidate is blocked, or unverified and not released.
  bool rejected(RowId candidate) const {
    return blocked(candidate) || suspects_.contains(candidate);
  }
  /// Candidates that were running when a tuner died, except released ones.
  std::vector<CandidateRecord> suspects() const;
  void release(RowId candidate);

  /// Stores that the candidate is blocked. This is also a verdict.
  void block(RowId candidate, const std::string& reason);
  /// Removes the journal entry of a released candidate, because there is a verdict on it now.
  void settle(RowId candidate);

 private:
  Store& store_;
  RowId device_;
  std::set<RowId> blocked_;
  std::map<RowId, RowId> suspects_, released_;  ///< Candidates with their journal entries.
};

}  // namespace rooftile
