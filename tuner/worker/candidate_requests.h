// Requests about candidates: the journal entry while the worker has one, the candidate's share in a
// failure, and the time that failures cost.
#pragma once

#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "core/time_account.h"
#include "db/store.h"
#include "tuner/worker/budget.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {

struct CandidateOutcome {
  std::optional<Json> reply;
  /// Failure of the candidate; no value when it is not to blame.
  std::optional<SampleStatus> failure;
  /// Whether there was no answer because memory ran out, or perhaps did where it is limited. That
  /// is no candidate's fault.
  bool lacked_memory = false;
  std::string message;
  double wall_s = 0;
};

/// What an answer says about the candidate. The caller sets wall_s.
CandidateOutcome outcome_of(const WorkerAnswer& answer);

/// What read() makes of the reply; nothing where there is none. A reply that read() refuses is as
/// bad as none: the candidate crashed.
template <typename Read>
std::optional<std::invoke_result_t<Read, const Json&>> read_reply(CandidateOutcome& outcome,
                                                                  Read&& read) {
  if (!outcome.reply) return std::nullopt;
  try {
    return read(*outcome.reply);
  } catch (const std::bad_alloc&) {
    throw;  // This process lacks memory, which is not the candidate's fault.
  } catch (const std::exception& error) {
    outcome.reply.reset();
    outcome.failure = SampleStatus::kCrashed;
    outcome.message = std::string("the worker's answer cannot be read: ") + error.what();
    return std::nullopt;
  }
}

/// Asks a worker. A request that the end of the budget cuts short was interrupted and did not time
/// out.
WorkerAnswer ask_within(WorkerProcess& worker, const Budget& budget, const Json& request,
                        double watchdog_s, const std::atomic<bool>& stop);

class CandidateRequests {
 public:
  CandidateRequests(Store& store, RowId device, WorkerProcess& worker, const Budget& budget,
                    const std::atomic<bool>& stop, TimeAccount& account);

  CandidateOutcome ask(RowId candidate, const Json& request, double watchdog_s);
  /// Sends a request without a journal entry, as ask_within().
  WorkerAnswer ask_without_journal(const Json& request, double watchdog_s);
  bool over() const { return stop_.load() || budget_.left_s() <= 0; }

  /// Counts the time of a failure as lost. If the failure ended the worker, the start of the next
  /// one is counted too.
  void lose(double wall_s);
  double lost_s() const { return lost_s_; }

  /// Time of new workers and of failures is counted there as such.
  TimeAccount& account() { return account_; }

  /// What was said when memory last ran out; "" where it never has.
  const std::string& lack_of_memory() const { return lack_of_memory_; }

  pid_t worker() const { return worker_.pid(); }  ///< 0 when none is running.
  double memory_limit_bytes() const { return worker_.memory_limit_bytes(); }

 private:
  Store& store_;
  RowId device_;
  WorkerProcess& worker_;
  const Budget& budget_;
  const std::atomic<bool>& stop_;
  TimeAccount& account_;
  bool lost_worker_ = false;
  double lost_s_ = 0;
  std::string lack_of_memory_;
};

}  // namespace rooftile
