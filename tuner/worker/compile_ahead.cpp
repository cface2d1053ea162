#include "tuner/worker/compile_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <vector>

namespace rooftile {
namespace {

// What the driver finds in its cache took 0.09 to 0.13 of the compilation on lavapipe 22.3
// (2026-11-23). After so many candidates the sums tell whether there is such a cache. Shorter
// compilations may themselves have found the code in the cache.
constexpr double kMostAgain = 0.5, kLeastAheadNs = 1e8;
constexpr std::size_t kFewest = 4;

}  // namespace

CompileAhead::CompileAhead(Store& store, RowId device, CompilerPool* pool,
                           const std::atomic<bool>& stop)
    : store_(store), device_(device), pool_(pool), stop_(stop) {}

CompileAhead::~CompileAhead() {
  try {
    if (!journal_.empty()) pool_->interrupt();  // Nobody will measure them.
    while (!journal_.empty()) finish(journal_.begin()->first);
  } catch (const std::exception&) {
    // The entries stay, as after the death of a tuner: the next run settles them.
  }
}

bool CompileAhead::pays() const {
  if (pool_ == nullptr || pool_->size() == 0) return false;
  return counted_.size() < kFewest || again_sum_ns_ <= kMostAgain * ahead_sum_ns_;
}

void CompileAhead::begin(RowId candidate, const Json& request, double watchdog_s) {
  settle();
  if (!known_.insert(candidate).second) return;
  journal_[candidate] = store_.journal_begin(device_, candidate, ::getpid());
  pool_->post({.candidate = candidate, .request = request, .watchdog_s = watchdog_s});
}

void CompileAhead::settle() {
  for (auto& [candidate, entry] : journal_)
    if (entry && pool_->is_finished(candidate)) {
      store_.journal_end(*entry);
      entry.reset();
    }
}

CompileAhead::State CompileAhead::state(RowId candidate) const {
  if (!known_.contains(candidate)) return State::kUnknown;
  return journal_.contains(candidate) && !pool_->is_finished(candidate) ? State::kCompiling
                                                                        : State::kCompiled;
}

std::optional<CandidateOutcome> CompileAhead::finish(RowId candidate) {
  settle();
  const auto journal = journal_.find(candidate);
  if (journal == journal_.end()) return std::nullopt;
  const CompileResult result = pool_->wait(candidate, stop_);
  if (journal->second) store_.journal_end(*journal->second);
  journal_.erase(journal);
  CandidateOutcome outcome = outcome_of(result.answer);
  outcome.wall_s = result.wall_s;
  if (auto compiled = read_reply(outcome, compile_reply_from_json)) {
    ahead_ns_[candidate] = compiled->compile_ns;
    code_[candidate] = std::move(compiled->code);
  }
  return outcome;
}

double CompileAhead::compiled(RowId candidate, double measured_ns) {
  known_.insert(candidate);
  const auto ahead = ahead_ns_.find(candidate);
  if (ahead == ahead_ns_.end()) return measured_ns;
  if (ahead->second >= kLeastAheadNs && counted_.insert(candidate).second) {
    ahead_sum_ns_ += ahead->second;
    again_sum_ns_ += measured_ns;
  }
  return ahead->second;
}

}  // namespace rooftile
