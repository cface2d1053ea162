// Compilation of candidates before they are measured, by workers that only compile, so that the
// measuring worker finds the code in the driver's cache. Journal and blame are those of any request
// about a candidate.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "db/store.h"
#include "tuner/worker/candidate_requests.h"
#include "tuner/worker/compiler_pool.h"

namespace rooftile {

class CompileAhead {
 public:
  /// pool: null where nothing is compiled ahead.
  CompileAhead(Store& store, RowId device, CompilerPool* pool, const std::atomic<bool>& stop);
  /// Interrupts what was begun.
  ~CompileAhead();
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// False without a pool, and where the measuring worker compiled again what was compiled ahead:
  /// this driver has no cache that processes share, or cannot write it.
  bool pays() const;
  /// Begins to compile a candidate, unless this run has compiled it.
  void begin(RowId candidate, const Json& request, double watchdog_s);
  enum class State : std::uint8_t { kUnknown, kCompiling, kCompiled };
  /// kCompiled: its compilation has ended, perhaps in a failure.
  State state(RowId candidate) const;
  /// Ends the journal entries of compilations that have ended, so that the death of the tuner
  /// blames no kernel that is compiled and waits for its measurement.
  void settle();
  /// Waits for a candidate that was begun. No value: it was not begun, or was finished before.
  std::optional<CandidateOutcome> finish(RowId candidate);
  /// Takes the code of a finished candidate for the measuring worker, which may not find it in the
  /// driver's cache: NVIDIA's driver looks there for what was stored before a process began. Empty
  /// from the second call on, and where there is none.
  std::string take_code(RowId candidate) { return std::exchange(code_[candidate], {}); }
  /// Must be called when the measuring worker has compiled a candidate, within measured_ns. Returns
  /// the time of the candidate's compilation: that of the compilation ahead, if there was one.
  double compiled(RowId candidate, double measured_ns);

 private:
  Store& store_;
  RowId device_;
  CompilerPool* pool_;
  const std::atomic<bool>& stop_;
  /// An entry for each candidate whose result finish() has not taken. Its row in the journal is
  /// gone (no value) once the compilation has ended.
  std::map<RowId, std::optional<RowId>> journal_;
  std::set<RowId> known_;  ///< Compiled, or being compiled.
  std::map<RowId, double> ahead_ns_;
  std::map<RowId, std::string> code_;
  std::set<RowId> counted_;  ///< Candidates in the sums.
  double ahead_sum_ns_ = 0, again_sum_ns_ = 0;
};

}  // namespace rooftile
