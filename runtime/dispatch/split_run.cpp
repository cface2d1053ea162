// Calls that several devices and the host compute at the same time (docs/several-devices.md).
#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/dispatch/executor.h"
#include "runtime/host/host_tier.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

constexpr double kAnyMargin = std::numeric_limits<double>::infinity();

/// One share of a call, and what became of it. No failure: it is computed.
struct Part : FailedShare {
  GemmCall call;
  double took_ns = 0;
};

/// Runs all parts at the same time, the last one on the calling thread: it is the host's, if the
/// host has one.
template <typename Run>
void run_together(std::vector<Part>& parts, const Run& run) {
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

}  // namespace

bool Executor::are_ready(const SplitDecision& d, std::span<const PlannedShare> shares,
                         const GemmCall& call) const {
  if (state_.settings.while_compiling == WhileCompiling::kWait) return true;
  bool all = true;  // Each begins to compile, also behind one that is not ready.
  for (const PlannedShare& share : shares)
    if (DeviceTier* const on = d.workers[share.party].device; on != nullptr)
      all = on->ready(range_of(call, d.along, share.begin, share.size), &call.problem) && all;
  return all;
}

std::optional<Outcome> Executor::run_split(const Request& r, Plan& plan) {
  const std::shared_ptr<SplitCourse> course = planner_.course_of(r.problem(), r.guard);
  const SplitDecision& d = course->decision();
  const std::vector<PlannedShare> shares = course->shares();
  if (!d.wins || !are_ready(d, shares, *r.call)) return std::nullopt;
  std::vector<Part> parts(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    parts[i].worker = &d.workers[shares[i].party];
    parts[i].call = range_of(*r.call, d.along, shares[i].begin, shares[i].size);
  }
  const auto request_of = [&](const Part& part) {
    Request share = r;
    share.call = &part.call;
    share.devices = Devices::kOne;
    return share;
  };
  const double start = now_ns();
  run_together(parts, [&](Part& part) noexcept {
    const double begin = now_ns();
    try {
      if (part.worker->device == nullptr)
        on_host(request_of(part), {}, part.worker->tier, Reason::kPredicted);
      else  // Its kernel is compiled: only where several are needed may the call wait for one.
        run_kernel(*part.worker->device, request_of(part), DeviceTier::Wait::kBest, kAnyMargin,
                   &r.problem());
    } catch (const DeviceTier::SpotCheckFailed&) {
      part.failure = std::current_exception();
      part.failed_check = true;
    } catch (...) {
      part.failure = std::current_exception();
    }
    part.took_ns = now_ns() - begin;
  });
  Outcome outcome = {.reason = Reason::kPredicted};
  std::vector<Tier> tiers;
  std::vector<double> took_ns;
  for (const Part& part : parts) {
    took_ns.push_back(part.took_ns);
    tiers.push_back(part.worker->tier);
    if (!part.failure) continue;
    if (outcome.reason != Reason::kFailed)
      outcome.reason = part.failed_check ? Reason::kPrecision : Reason::kFailed;
    if (part.worker->device != nullptr && !part.failed_check)
      note_failure(*part.worker->device, r.problem(), part.failure);
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const Part& part = parts[i]; part.failure)
      tiers[i] = run_failed(request_of(part), part, plan, d);
  const bool alike = std::ranges::count(tiers, tiers.front()) == std::ssize(tiers);
  outcome.tier = alike || std::ranges::all_of(tiers, is_host) ? tiers.front() : Tier::kSplit;
  if (outcome.reason != Reason::kPredicted) {
    plan.times.leave_out(Tier::kSplit);
    return outcome;
  }
  outcome.shares = shares_text(d, shares);
  if (plan.times.open()) measured(plan, now_ns() - start, r.problem());
  if (state_.settings.measure_calls == MeasureCalls::kYes && course->record(shares, took_ns) &&
      state_.log != nullptr)
    state_.log->say_split(r.problem(), shares_text(d, course->shares()));
  return outcome;
}

Tier Executor::run_failed(const Request& share, const FailedShare& failed, const Plan& plan,
                          const SplitDecision& d) {
  // Another check of the same kernel might pass over the element that is wrong.
  if (failed.failed_check) return on_host(share, plan, plan.host, Reason::kPrecision).tier;
  if (failed.worker->device != nullptr) return run_planned(share).tier;
  // The host has no memory for its copies; a device may do with less.
  for (const SplitWorker& worker : d.workers) {
    if (worker.device == nullptr) continue;
    try {
      run_kernel(*worker.device, share, DeviceTier::Wait::kBest, kAnyMargin);
      return worker.tier;
    } catch (const Error&) {  // The next one is tried.
    }
  }
  std::rethrow_exception(failed.failure);
}

void Executor::note_failure(DeviceTier& on, const Problem& p,
                            const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const Error& error) {
  state_.device_failed(on, p, error);
} catch (const std::exception&) {  // The host had no memory: no fault of the device.
}

}  // namespace rooftile
