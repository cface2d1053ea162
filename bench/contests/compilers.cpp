#include "bench/contests/compilers.h"

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "generator/rules.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

std::string key(const Variant& variant, const Problem& staged) {
  return to_string(variant) + " " + to_string(signature_of(staged));
}

bool started = false;

}  // namespace

struct Compilers::Task {
  struct Compiled {
    std::unique_ptr<Kernel> kernel;
    double ns;
  };
  explicit Task(std::function<Compiled()> compile) : run(std::move(compile)) {}
  std::packaged_task<Compiled()> run;
  std::future<Compiled> compiled = run.get_future();
  std::optional<Error> failure = {};
};

struct Compilers::Work {
  std::mutex mutex;
  std::deque<std::shared_ptr<Task>> waiting;

  std::shared_ptr<Task> next() {
    const std::lock_guard lock(mutex);
    if (waiting.empty()) return nullptr;
    std::shared_ptr<Task> task = std::move(waiting.front());
    waiting.pop_front();
    return task;
  }
};

std::optional<std::string> why_illegal(const Variant& variant, const DeviceLimits& limits,
                                       const Problem& problem) {
  const Problem staged = staged_problem(problem);
  return illegal_reason(variant, limits, staged, own_buffers(staged));
}

Compilers::Compilers(std::shared_ptr<Device> device, double longest_s)
    : device_(std::move(device)), longest_s_(longest_s), work_(std::make_shared<Work>()) {}

void Compilers::add(const Variant& variant, const Problem& problem) {
  const Problem staged = staged_problem(problem);
  if (why_illegal(variant, device_->profile().limits, problem)) return;
  std::shared_ptr<Task>& task = tasks_[key(variant, staged)];
  if (task != nullptr) return;
  task = std::make_shared<Task>([device = device_, variant, signature = signature_of(staged)] {
    const double start = now_ns();
    auto kernel = std::make_unique<Kernel>(device, variant, signature, ShaderCache({}));
    return Task::Compiled{std::move(kernel), now_ns() - start};
  });
  const std::lock_guard lock(work_->mutex);
  work_->waiting.push_back(task);
}

bool Compilers::any_threads() { return started; }

void Compilers::start(unsigned threads) {
  started = started || threads > 0;
  for (unsigned i = 0; i < threads; ++i)
    std::thread([work = work_] {
      while (const std::shared_ptr<Task> task = work->next()) task->run();
    }).detach();
}

void Compilers::provide(Measurer& measurer, const Variant& variant, const Problem& problem) {
  const Problem staged = staged_problem(problem);
  const auto found = tasks_.find(key(variant, staged));
  if (found == tasks_.end()) return;
  Task& task = *found->second;
  if (task.failure) throw Error(*task.failure);
  if (!task.compiled.valid()) return;  // The measurer has it.
  try {
    if (task.compiled.wait_for(std::chrono::duration<double>(longest_s_)) !=
        std::future_status::ready)
      fail(ErrorCode::kCompile, "does not compile within {} s", longest_s_);
    Task::Compiled done = task.compiled.get();
    measurer.adopt(std::move(done.kernel), signature_of(staged), done.ns);
  } catch (const Error& error) {
    task.failure = error;
    throw;
  }
}

}  // namespace rooftile
