#include "tuner/worker/compiler_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "tuner/worker/candidate_requests.h"

namespace rooftile {
namespace {

constexpr std::size_t kMeasuredTogether = 4;    // A batch of a search.
constexpr std::chrono::milliseconds kPoll(20);  // Interval at which wait() checks `stop`.

}  // namespace

// A worker ends with the thread that started it, so the threads live as long as the pool.
CompilerPool::CompilerPool(std::vector<std::unique_ptr<WorkerProcess>> workers,
                           const Budget& budget)
    : budget_(budget), workers_(std::move(workers)) {
  for (const std::unique_ptr<WorkerProcess>& worker : workers_)
    threads_.emplace_back(
        [this, &worker = *worker](const std::stop_token& ended) { serve(worker, ended); });
}

CompilerPool::~CompilerPool() {
  cancelled_ = true;
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void CompilerPool::post(CompileJob job) {
  const std::scoped_lock lock(mutex_);
  const RowId candidate = job.candidate;
  results_[candidate] = std::nullopt;
  try {
    waiting_.push_back(std::move(job));
  } catch (...) {
    results_.erase(candidate);
    throw;
  }
  changed_.notify_all();
}

void CompilerPool::hurry(const std::set<RowId>& candidates) {
  const std::scoped_lock lock(mutex_);
  std::stable_partition(waiting_.begin(), waiting_.end(),
                        [&](const CompileJob& job) { return candidates.contains(job.candidate); });
}

bool CompilerPool::is_full() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size() >= kMeasuredTogether;
}

bool CompilerPool::is_finished(RowId candidate) const {
  const std::scoped_lock lock(mutex_);
  return results_.at(candidate).has_value();
}

void CompilerPool::wait_for_any() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPoll, [before = ended_, this] { return ended_ != before; });
}

CompileResult CompilerPool::wait(RowId candidate, const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPoll, [&] { return results_.at(candidate).has_value(); }))
    if (stop.load()) cancelled_ = true;
  CompileResult result = *std::move(results_.at(candidate));
  results_.erase(candidate);
  return result;
}

void CompilerPool::interrupt() {
  std::unique_lock lock(mutex_);
  for (const CompileJob& job : waiting_)
    results_.at(job.candidate) = CompileResult{.answer = {.fate = WorkerFate::kInterrupted}};
  waiting_.clear();
  cancelled_ = true;
  changed_.wait(lock, [this] {
    return std::ranges::all_of(results_, [](const auto& job) { return job.second.has_value(); });
  });
  cancelled_ = false;
}

CompileResult CompilerPool::compile(WorkerProcess& worker, const CompileJob& job) const {
  const double start_s = now_s();
  CompileResult result;
  try {
    result.answer = ask_within(worker, budget_, job.request, job.watchdog_s, cancelled_);
  } catch (const Error& error) {
    result.answer = {.fate = WorkerFate::kInterrupted, .message = error.what()};
  } catch (const std::exception&) {  // There is no memory, so that nothing more is said.
    result.answer.fate = WorkerFate::kInterrupted;
  }
  result.wall_s = now_s() - start_s - result.answer.opening_s;
  return result;
}

// An exception would end the program. What takes memory is done in post().
void CompilerPool::serve(WorkerProcess& worker, const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, ended, [&] { return !waiting_.empty(); })) {
    if (ended.stop_requested()) return;
    const CompileJob job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    CompileResult result = compile(worker, job);
    lock.lock();
    results_.at(job.candidate) = std::move(result);
    ++ended_;
    changed_.notify_all();
  }
}

}  // namespace rooftile
