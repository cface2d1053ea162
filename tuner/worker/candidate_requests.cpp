#include "tuner/worker/candidate_requests.h"

#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"

namespace rooftile {
namespace {

SampleStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCompile:
      return SampleStatus::kCompileFailed;
    case ErrorCode::kInternal:
      return SampleStatus::kWrongResult;
    case ErrorCode::kTimeout:
      return SampleStatus::kTimedOut;
    default:
      return SampleStatus::kLaunchFailed;
  }
}

}  // namespace

WorkerAnswer ask_within(WorkerProcess& worker, const Budget& budget, const Json& request,
                        double watchdog_s, const std::atomic<bool>& stop) {
  const double deadline_s = budget.deadline_s(watchdog_s);
  WorkerAnswer answer = worker.ask(request, deadline_s, stop);
  if (answer.fate == WorkerFate::kTimedOut && deadline_s < watchdog_s)
    answer.fate = WorkerFate::kInterrupted;
  return answer;
}

CandidateOutcome outcome_of(const WorkerAnswer& answer) {
  CandidateOutcome outcome{.message = answer.message};
  switch (answer.fate) {
    case WorkerFate::kAnswered:
      outcome.reply = answer.reply;
      break;
    case WorkerFate::kRefused:
      // A lack of support or memory on this device is not the kernel's fault.
      outcome.lacked_memory = answer.error == ErrorCode::kOutOfMemory;
      if (answer.error != ErrorCode::kUnsupported && !outcome.lacked_memory)
        outcome.failure = status_of(answer.error);
      break;
    case WorkerFate::kTimedOut:
    case WorkerFate::kCrashed:
      outcome.lacked_memory = memory_is_limited();
      if (outcome.lacked_memory)
        outcome.message += fmt::format("; {}", kMemoryLimitAdvice);
      else
        outcome.failure =
            answer.fate == WorkerFate::kCrashed ? SampleStatus::kCrashed : SampleStatus::kTimedOut;
      break;
    case WorkerFate::kOutOfMemory:
      outcome.failure = SampleStatus::kCrashed;
      break;
    case WorkerFate::kInterrupted:
      break;
  }
  return outcome;
}

CandidateRequests::CandidateRequests(Store& store, RowId device, WorkerProcess& worker,
                                     const Budget& budget, const std::atomic<bool>& stop,
                                     TimeAccount& account)
    : store_(store),
      device_(device),
      worker_(worker),
      budget_(budget),
      stop_(stop),
      account_(account) {}

WorkerAnswer CandidateRequests::ask_without_journal(const Json& request, double watchdog_s) {
  return ask_within(worker_, budget_, request, watchdog_s, stop_);
}

CandidateOutcome CandidateRequests::ask(RowId candidate, const Json& request, double watchdog_s) {
  const RowId journal = store_.journal_begin(device_, candidate, ::getpid());
  const double start_s = now_s();
  WorkerAnswer answer;
  try {
    answer = ask_without_journal(request, watchdog_s);
  } catch (...) {  // There is no worker, or no memory here: the candidate is not at fault.
    store_.journal_end(journal);
    throw;
  }
  store_.journal_end(journal);
  CandidateOutcome outcome = outcome_of(answer);
  outcome.wall_s = now_s() - start_s - answer.opening_s;
  account_.shift(Activity::kStarting, answer.opening_s);
  if (outcome.failure) account_.shift(Activity::kFailures, outcome.wall_s);
  if (outcome.lacked_memory) lack_of_memory_ = outcome.message;
  if (lost_worker_) lost_s_ += answer.opening_s;
  lost_worker_ = false;
  return outcome;
}

void CandidateRequests::lose(double wall_s) {
  lost_s_ += wall_s;
  lost_worker_ = worker_.pid() == 0;
}

}  // namespace rooftile
