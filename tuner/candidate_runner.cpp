#include "tuner/candidate_runner.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/statistics.h"
#include "generator/emit.h"
#include "generator/version.h"

namespace rooftile {
namespace {

constexpr double kCompileAllowanceS =
    20;  // shader and driver compilation of one candidate; seconds at worst in practice
constexpr double kCertificationAllowanceS = 60;
constexpr double kLongestLimitS = 10;  // a product slower than this is not measured at all
// Often enough to see a device warm up, and a fiftieth of the time at most.
constexpr double kReferenceEveryS = 2, kReferenceShare = 0.02;
constexpr int kReferenceSamples = 5;
constexpr double kReferenceAllowanceS = 30;
// What has moved is looked at again: another program may be gone in a moment.
constexpr int kReferenceRepeats = 3;
constexpr std::chrono::milliseconds kReferencePause(50);  // doubled each time
constexpr double kGraceS = 5;  // past the budget, so that a candidate in flight may finish

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

Budget::Budget(double seconds) : seconds_(seconds), start_s_(now_s()) {}
double Budget::elapsed_s() const { return now_s() - start_s_; }

CandidateRunner::CandidateRunner(Store& store, WorkerProcess& worker, const Budget& budget,
                                 const std::atomic<bool>& stop, RunnerOptions options)
    : store_(store), worker_(worker), budget_(budget), stop_(stop), options_(std::move(options)) {
  for (const BlackListRecord& entry : store_.black_listed(options_.device))
    rejected_.insert(entry.candidate);
}

RowId CandidateRunner::id(const Variant& variant, const Signature& signature) {
  const auto [entry, fresh] = ids_.try_emplace(to_string(signature) + " " + to_string(variant), 0);
  if (fresh) {
    entry->second = store_.candidate_id({.hash = emit_gemm(variant, signature).hash,
                                         .signature = to_string(signature),
                                         .variant = variant});
  }
  return entry->second;
}

void CandidateRunner::reject(RowId candidate, const Variant& variant, const std::string& reason) {
  store_.black_list(options_.device, candidate, reason);
  rejected_.insert(candidate);
  ++failures_;
  if (options_.message)
    options_.message(fmt::format("black-listed {}: {}", short_name(variant), reason));
}

CandidateRunner::KnownFacts& CandidateRunner::known_facts(RowId candidate) {
  const auto [entry, fresh] = facts_.try_emplace(candidate);
  if (fresh) {
    if (const auto record = store_.compiler_facts(options_.device, candidate))
      entry->second = {.stored = true,
                       .dropped = record->dropped_reason.has_value(),
                       .spilled = spill_reason(record->facts).has_value()};
  }
  return entry->second;
}

// Once, and again when a candidate that was dropped is measured after all.
void CandidateRunner::store_facts(RowId candidate, const TimeReply& reply) {
  if (reply.statistics.empty()) return;
  KnownFacts& known = known_facts(candidate);
  const bool measured_at_last = known.dropped && !reply.dropped_reason;
  if (known.stored && !measured_at_last) return;
  const CompilerFacts facts = compiler_facts(reply.statistics);
  store_.put_compiler_facts(options_.device, candidate, {facts, reply.dropped_reason});
  known = {.stored = true,
           .dropped = reply.dropped_reason.has_value(),
           .spilled = spill_reason(facts).has_value()};
}

CandidateRunner::Outcome CandidateRunner::ask(RowId candidate, const Json& request,
                                              double watchdog_s) {
  const double deadline_s = std::min(watchdog_s, std::max(0.0, budget_.left_s()) + kGraceS);
  const RowId journal = store_.journal_begin(options_.device, candidate, ::getpid());
  const WorkerAnswer answer = worker_.ask(request, deadline_s, stop_);
  store_.journal_end(journal);
  Outcome outcome{.message = answer.message};
  switch (answer.fate) {
    case WorkerFate::kAnswered:
      outcome.reply = answer.reply;
      break;
    case WorkerFate::kRefused:
      // What this device or this machine's memory cannot do is no fault of the kernel.
      if (answer.error != ErrorCode::kUnsupported && answer.error != ErrorCode::kOutOfMemory)
        outcome.failure = status_of(answer.error);
      break;
    case WorkerFate::kTimedOut:
      // The budget's end is no watchdog.
      if (deadline_s >= watchdog_s) outcome.failure = SampleStatus::kTimedOut;
      break;
    case WorkerFate::kCrashed:
      outcome.failure = SampleStatus::kCrashed;
      break;
    case WorkerFate::kInterrupted:
      break;
  }
  return outcome;
}

std::optional<double> CandidateRunner::time_reference(const ReferenceKernel& reference) {
  const RowId candidate = id(reference.variant, signature_of(reference.problem));
  if (rejected(candidate)) return std::nullopt;
  const Json request = {{"operation", "time reference"},
                        {"request", to_json(TimeRequest{.variant = reference.variant,
                                                        .problem = reference.problem,
                                                        .samples = kReferenceSamples,
                                                        .compute_units = options_.compute_units})}};
  const Outcome outcome = ask(candidate, request, kReferenceAllowanceS);
  if (!outcome.reply) return std::nullopt;
  const Summary kernel = summarize(time_reply_from_json(*outcome.reply).kernel_ns);
  store_.add_reference_sample(options_.run, kernel);
  return kernel.median_ns;
}

void CandidateRunner::watch_reference() {
  if (!options_.reference || now_s() < reference_due_s_) return;
  const double start_s = now_s();
  for (int attempt = 0; !over(); ++attempt) {
    const std::optional<double> reading = time_reference(*options_.reference);
    if (!reading) {
      options_.reference.reset();  // a kernel that fails tells nothing of the device's speed
      return;
    }
    const bool moved = drift_.moved(*reading);
    drift_.add(*reading);
    if (drift_.readings() < Drift::kWindow) continue;
    if (!moved || attempt >= kReferenceRepeats) break;
    std::this_thread::sleep_for(kReferencePause * (1 << attempt));
  }
  const double end_s = now_s();
  reference_due_s_ = end_s + std::max(kReferenceEveryS, (end_s - start_s) / kReferenceShare);
}

NoiseReport CandidateRunner::noise() const {
  NoiseReport report = noise_;
  report.slowdown = drift_.slowdown();
  return report;
}

std::optional<TimeReply> CandidateRunner::time(const Variant& variant, const Problem& problem,
                                               int samples, double limit_ns, Spilled spilled) {
  if (over()) return std::nullopt;
  const RowId candidate = id(variant, signature_of(problem));
  if (rejected(candidate)) return std::nullopt;
  if (spilled == Spilled::kDrop && known_facts(candidate).spilled) {
    ++spilled_;
    return std::nullopt;
  }
  watch_reference();
  if (over()) return std::nullopt;
  const double limit_s = std::min(limit_ns * 1e-9, kLongestLimitS);
  // One untimed turn, one for probe and operands, and those that are taken again.
  const double watchdog_s = kCompileAllowanceS + 2 * limit_s * (samples + kMostRetakes + 2);
  const Json request = {{"operation", "time"},
                        {"request", to_json(TimeRequest{.variant = variant,
                                                        .problem = problem,
                                                        .samples = samples,
                                                        .limit_ns = limit_s * 1e9,
                                                        .compute_units = options_.compute_units,
                                                        .rotate_bytes = options_.rotate_bytes,
                                                        .spilled = spilled})}};
  const Outcome outcome = ask(candidate, request, watchdog_s);
  SampleRecord sample = {
      .run = options_.run, .candidate = candidate, .problem = store_.problem_id(problem)};
  if (outcome.failure) {
    sample.status = *outcome.failure;
    sample.detail = outcome.message;
    store_.add_sample(sample);
    reject(candidate, variant, fmt::format("{}: {}", name(*outcome.failure), outcome.message));
    return std::nullopt;
  }
  if (!outcome.reply) return std::nullopt;
  TimeReply reply = time_reply_from_json(*outcome.reply);
  store_facts(candidate, reply);
  if (reply.dropped_reason) {
    ++spilled_;
    return std::nullopt;
  }
  if (reply.kernel_ns.empty()) return std::nullopt;
  sample.kernel = summarize(reply.kernel_ns);
  sample.pack_ns = reply.pack_ns;
  sample.compile_ns = reply.compile_ns;
  sample.retaken = reply.retaken;
  sample.noisy = reply.noisy;
  sample.level = drift_.level();
  store_.add_sample(sample);
  ++measured_;
  noise_.retaken += static_cast<std::size_t>(reply.retaken);
  noise_.noisy += static_cast<std::size_t>(reply.noisy);
  for (double& ns : reply.kernel_ns) ns /= level();
  reply.pack_ns /= level();
  return reply;
}

bool CandidateRunner::certified(const Variant& variant, const Signature& signature) {
  const RowId candidate = id(variant, signature);
  if (rejected(candidate)) return false;
  if (const auto verdict = store_.certificate(options_.device, candidate, kGeneratorVersion))
    return *verdict;
  if (over()) return false;
  const Json request = {
      {"operation", "certify"}, {"variant", to_string(variant)}, {"signature", to_json(signature)}};
  const Outcome outcome = ask(candidate, request, kCertificationAllowanceS);
  if (outcome.failure) {
    reject(candidate, variant, fmt::format("certification: {}", outcome.message));
    return false;
  }
  if (!outcome.reply) return false;
  const Certificate certificate = certificate_from_json(*outcome.reply);
  store_.put_certificate(options_.device, candidate, kGeneratorVersion, certificate.passed,
                         certificate.passed
                             ? fmt::format("{} cases, worst error {:.3f} of its bound",
                                           certificate.cases, certificate.worst_ratio)
                             : certificate.detail);
  if (!certificate.passed) {
    ++failures_;
    rejected_.insert(candidate);
    if (options_.message)
      options_.message(fmt::format("refused {}: {}", short_name(variant), certificate.detail));
  }
  return certificate.passed;
}

}  // namespace rooftile
