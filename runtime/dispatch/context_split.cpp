// Calls that several devices and the host compute at the same time (docs/several-devices.md).
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/dispatch/split_course.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One share of a call, and what became of it.
struct Part {
  const SplitWorker* worker;
  GemmCall call;
  double took_ns = 0;
  std::exception_ptr failure = {};  ///< Null: the part is computed.
  bool failed_check = false;        ///< The failure is a spot check's.
};

}  // namespace

void Context::Impl::run_part(const SplitWorker& worker, const GemmCall& call, const Guard& guard,
                             const Problem& whole) {
  if (worker.device == nullptr) return run_on_host(call, worker.host);
  // Its kernel is compiled: only where several are needed may the call wait for one.
  constexpr auto kWait = DeviceTier::Wait::kBest;
  if (is_guarded(guard))
    run_guarded(*worker.device, call, guard, kWait, kInfinity, &whole);
  else
    worker.device->gemm(call, kWait, kInfinity, nullptr, &whole);
}

bool Context::Impl::are_ready(const SplitDecision& d, std::span<const PlannedShare> shares,
                              const GemmCall& call) {
  if (while_compiling == WhileCompiling::kWait) return true;
  bool all = true;  // Each begins to compile, also behind one that is not ready.
  for (const PlannedShare& share : shares)
    if (DeviceTier* const on = d.workers[share.party].device; on != nullptr)
      all = on->ready(range_of(call, d.along, share.begin, share.size), &call.problem) && all;
  return all;
}

void Context::Impl::note_failure(DeviceTier& on, const Problem& p,
                                 const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const Error& error) {
  device_failed(on, p, error);
} catch (const std::exception&) {  // The host had no memory: no fault of the device.
}

SplitOutcome Context::Impl::run_shares(const SplitDecision& d, std::span<const PlannedShare> shares,
                                       const GemmCall& call, const Guard& guard,
                                       SplitOutcome outcome) {
  std::vector<Part> parts;
  for (const PlannedShare& share : shares)
    parts.push_back({.worker = &d.workers[share.party],
                     .call = range_of(call, d.along, share.begin, share.size)});
  const auto run = [&](Part& part) noexcept {
    const double start = now_ns();
    try {
      run_part(*part.worker, part.call, guard, call.problem);
    } catch (const DeviceTier::SpotCheckFailed&) {
      part.failure = std::current_exception();
      part.failed_check = true;
    } catch (...) {
      part.failure = std::current_exception();
    }
    part.took_ns = now_ns() - start;
  };
  {
    // The host, which comes last, computes on the calling thread.
    std::vector<std::jthread> threads;
    threads.reserve(parts.size());
    std::size_t started = 0;
    try {
      for (; started + 1 < parts.size(); ++started)
        threads.push_back(thread_without_signals(
            [&run, &part = parts[started]](const std::stop_token&) { run(part); }));
    } catch (const std::exception&) {  // Too many threads: the rest is computed here, in turn.
    }
    for (Part& part : std::span(parts).subspan(started)) run(part);
  }
  for (const Part& part : parts) {
    outcome.took_ns.push_back(part.took_ns);
    if (!part.failure) {
      outcome.answered.push_back(*part.worker);
      continue;
    }
    (part.failed_check ? outcome.failed_checks : outcome.failed_parts) = true;
    if (part.worker->device == nullptr) {
      outcome.host = true;
      continue;
    }
    outcome.devices.push_back(part.worker->device);
    if (!part.failed_check) note_failure(*part.worker->device, call.problem, part.failure);
  }
  // The others compute what is left.
  for (const Part& part : parts) {
    if (!part.failure) continue;
    SplitDecision rest = plan_split(part.call.problem, guard, outcome);
    if (!are_ready(rest, rest.plan.shares, part.call) && !outcome.host) {
      SplitOutcome without_devices = outcome;
      without_devices.all_devices = true;
      rest = plan_split(part.call.problem, guard, without_devices);
    }
    if (rest.plan.shares.empty()) std::rethrow_exception(part.failure);
    outcome = run_shares(rest, rest.plan.shares, part.call, guard, std::move(outcome));
  }
  return outcome;
}

Tier Context::Impl::answering_tier(const std::vector<SplitWorker>& answered) const {
  const auto all = [&](const auto& is) { return std::ranges::all_of(answered, is); };
  if (all([](const SplitWorker& w) { return w.device == nullptr; })) return answered.front().host;
  if (all([&](const SplitWorker& w) { return w.device == device.get(); })) return Tier::kDevice;
  return Tier::kSplit;
}

std::optional<Outcome> Context::Impl::run_split(const GemmCall& call, const Guard& guard,
                                                SplitCourse& course) {
  const SplitDecision& d = course.decision();
  const std::vector<PlannedShare> shares = course.shares();
  if (!d.wins || !are_ready(d, shares, call)) return std::nullopt;
  const SplitOutcome done = run_shares(d, shares, call, guard, {});
  Outcome outcome = {.tier = answering_tier(done.answered), .reason = Reason::kPredicted};
  if (done.failed_parts || done.failed_checks) {
    outcome.reason = done.failed_parts ? Reason::kFailed : Reason::kPrecision;
    return outcome;
  }
  outcome.shares = shares_text(d, shares);
  if (measure_calls == MeasureCalls::kYes && course.record(shares, done.took_ns) && log != nullptr)
    log->say_split(call.problem, shares_text(d, course.shares()));
  return outcome;
}

Outcome Context::Impl::run_predicted_split(const GemmCall& call, DecisionCache::Entry& entry,
                                           DecisionCache& cache) {
  TierTimes& times = entry.decision.times;
  const std::shared_ptr<SplitCourse> course = course_of(call.problem, {});
  const double start = times.open() ? now_ns() : 0;
  if (std::optional<Outcome> outcome = run_split(call, {}, *course)) {
    outcome->cached = &entry.problem;
    if (outcome->reason != Reason::kPredicted)
      times.leave_out(Tier::kSplit);
    else if (times.open())
      measured(times, now_ns() - start, call.problem);
    return *std::move(outcome);
  }
  Outcome outcome = run_unsplit(call, entry, entry.decision.unsplit, cache, Remembered::kNo);
  if (outcome.reason == Reason::kPredicted) outcome.reason = Reason::kCompiling;
  return outcome;
}

std::optional<Outcome> Context::Impl::run_guarded_split(const GemmCall& call, const Guard& guard) {
  if (devices_of(call) != Devices::kAll || needs_float64(guard)) return std::nullopt;
  const std::shared_ptr<SplitCourse> course = course_of(call.problem, guard);
  if (log != nullptr) log->say_split(call.problem, course->decision().reason);
  if (!course->decision().wins || (scans(guard) && range_refusal(call))) return std::nullopt;
  return run_split(call, guard, *course);
}

}  // namespace rooftile
