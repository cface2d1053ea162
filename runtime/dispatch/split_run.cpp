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

/// One share of a call, and what became of it.
struct Part {
  const SplitWorker* worker;
  GemmCall call;
  double took_ns = 0;
  std::exception_ptr failure = {};  ///< Null: the part is computed.
  bool failed_check = false;        ///< The failure is a spot check's.
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
  SplitCourse& course = *plan.split;
  const SplitDecision& d = course.decision();
  const std::vector<PlannedShare> shares = course.shares();
  if (!are_ready(d, shares, *r.call)) return std::nullopt;
  std::vector<Part> parts;
  for (const PlannedShare& share : shares)
    parts.push_back({.worker = &d.workers[share.party],
                     .call = range_of(*r.call, d.along, share.begin, share.size)});
  const double start = now_ns();
  run_together(parts, [&](Part& part) noexcept {
    const double begin = now_ns();
    try {
      Request of_part = r;
      of_part.call = &part.call;
      if (part.worker->device == nullptr)
        on_host(of_part, {}, part.worker->host, Reason::kPredicted);
      else  // Its kernel is compiled: only where several are needed may the call wait for one.
        run_kernel(*part.worker->device, of_part, DeviceTier::Wait::kBest,
                   std::numeric_limits<double>::infinity(), &r.problem());
    } catch (const DeviceTier::SpotCheckFailed&) {
      part.failure = std::current_exception();
      part.failed_check = true;
    } catch (...) {
      part.failure = std::current_exception();
    }
    part.took_ns = now_ns() - begin;
  });
  Outcome outcome = {.reason = Reason::kPredicted};
  for (const Part& part : parts) {
    if (!part.failure) continue;
    if (outcome.reason != Reason::kFailed)
      outcome.reason = part.failed_check ? Reason::kPrecision : Reason::kFailed;
    if (part.worker->device != nullptr && !part.failed_check)
      note_failure(*part.worker->device, r.problem(), part.failure);
  }
  std::vector<Tier> tiers;
  for (const Part& part : parts) {
    Request rest = r;
    rest.call = &part.call;
    rest.devices = Devices::kOne;
    tiers.push_back(part.failure ? run_part(rest).tier : tier_of(*part.worker));
  }
  const bool alike = std::ranges::count(tiers, tiers.front()) == std::ssize(tiers);
  outcome.tier = alike || std::ranges::all_of(tiers, is_host) ? tiers.front() : Tier::kSplit;
  TierTimes& times = plan.times;
  if (outcome.reason != Reason::kPredicted) {
    times.leave_out(Tier::kSplit);
    return outcome;
  }
  outcome.shares = shares_text(d, shares);
  if (times.open()) measured(plan, now_ns() - start, r.problem());
  std::vector<double> took_ns;
  for (const Part& part : parts) took_ns.push_back(part.took_ns);
  if (state_.settings.measure_calls == MeasureCalls::kYes && course.record(shares, took_ns) &&
      state_.log != nullptr)
    state_.log->say_split(r.problem(), shares_text(d, course.shares()));
  return outcome;
}

void Executor::note_failure(DeviceTier& on, const Problem& p,
                            const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const Error& error) {
  state_.device_failed(on, p, error);
} catch (const std::exception&) {  // The host had no memory: no fault of the device.
}

Tier Executor::tier_of(const SplitWorker& worker) const {
  if (worker.device == nullptr) return worker.host;
  return worker.device == state_.device.get() ? Tier::kDevice : Tier::kSplit;
}

}  // namespace rooftile
