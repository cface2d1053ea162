#include "tuner/worker/candidate_runner.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/numbers/statistics.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

struct Allowance {
  double first_s;  // Allowance before any was seen; it is not extended because most are slow.
  double least_s;
};
// Shader and driver compilation; and certification, for which a driver may compile a kernel some
// dozens of times: a correct kernel was seen to take 8 s, after others that took half a second.
constexpr Allowance kCompile = {20, 5}, kCertification = {60, 30};
// Some kernels take many times as long as others, and on a busy machine a few times as long as
// before.
constexpr double kTimesMedian = 10, kTimesLongest = 3;
// Rate of filling operands with random numbers; 200e6 on an idle machine.
constexpr double kFillBytesPerS = 20e6;
constexpr double kLongestLimitS = 10;  // A slower call is not measured at all.
// Often enough to see a device warm up, and at most a fiftieth of the time.
constexpr double kReferenceEveryS = 2, kReferenceShare = 0.02;
constexpr int kReferenceSamples = 5;
constexpr double kReferenceAllowanceS = 30;
// A changed reading is repeated, because another program may end in a moment.
constexpr int kReferenceRepeats = 3;
constexpr std::chrono::milliseconds kReferencePause(50);  // Doubled each time.
// Allowance for counting, besides compilation, operands and runs: a second device, the profiling
// lock, and memory that is cleared before each of at most 16 passes.
constexpr double kCountAllowanceS = 20;
constexpr int kCountRuns = 17;
constexpr double kGraceS = 5;  // Time past the budget in which a running candidate may finish.

/// Returns the time after which a candidate counts as hanging.
double allowed_s(const Allowance& allowance, const std::vector<double>& seen_s) {
  if (seen_s.empty()) return allowance.first_s;
  return std::max({allowance.least_s, std::min(kTimesMedian * median(seen_s), allowance.first_s),
                   kTimesLongest * std::ranges::max(seen_s)});
}

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
  for (const JournalRecord& entry : store_.dead_journal(options_.device))
    suspects_.emplace(entry.candidate, entry.id);
}

std::vector<CandidateRecord> CandidateRunner::suspects() const {
  std::vector<CandidateRecord> records;
  for (const auto& [candidate, journal] : suspects_)
    if (auto record = store_.candidate(candidate)) records.push_back(*std::move(record));
  return records;
}

void CandidateRunner::release(RowId candidate) { released_.insert(suspects_.extract(candidate)); }

void CandidateRunner::acquit(RowId candidate) {
  if (const auto entry = released_.extract(candidate)) store_.journal_end(entry.mapped());
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

void CandidateRunner::reject(RowId candidate, const Variant& variant, const std::string& reason,
                             double wall_s) {
  const std::string with_cost = fmt::format("{} ({:.1f} s lost)", reason, wall_s);
  store_.black_list(options_.device, candidate, with_cost);
  rejected_.insert(candidate);
  acquit(candidate);
  ++failures_;
  lost_s_ += wall_s;
  lost_worker_ = worker_.pid() == 0;
  if (options_.message)
    options_.message(fmt::format("black-listed {}: {}", short_name(variant), with_cost));
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

// Stores compiler facts once, and again when a dropped candidate is measured after all.
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

double CandidateRunner::deadline_s(double watchdog_s) const {
  return std::min(watchdog_s, std::max(0.0, budget_.left_s()) + kGraceS);
}

CandidateRunner::Outcome CandidateRunner::ask(RowId candidate, const Json& request,
                                              double watchdog_s) {
  const double deadline_s = this->deadline_s(watchdog_s);
  const RowId journal = store_.journal_begin(options_.device, candidate, ::getpid());
  const double start_s = now_s();
  const WorkerAnswer answer = worker_.ask(request, deadline_s, stop_);
  store_.journal_end(journal);
  Outcome outcome{.message = answer.message, .wall_s = now_s() - start_s - answer.opening_s};
  if (lost_worker_) lost_s_ += answer.opening_s;
  lost_worker_ = false;
  switch (answer.fate) {
    case WorkerFate::kAnswered:
      outcome.reply = answer.reply;
      break;
    case WorkerFate::kRefused:
      // A lack of support or memory on this device is not the kernel's fault.
      if (answer.error != ErrorCode::kUnsupported && answer.error != ErrorCode::kOutOfMemory)
        outcome.failure = status_of(answer.error);
      break;
    case WorkerFate::kTimedOut:
      // A deadline set by the budget's end is not a hang.
      if (deadline_s >= watchdog_s) outcome.failure = SampleStatus::kTimedOut;
      break;
    case WorkerFate::kCrashed:
    case WorkerFate::kOutOfMemory:
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
      options_.reference.reset();  // A kernel that fails says nothing about the device's speed.
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

double CandidateRunner::operand_bytes(const Problem& problem) const {
  const Problem staged = staged_problem(problem);
  const StagedBytes bytes = staged_bytes(staged);
  return static_cast<double>(operand_sets(staged, options_.rotate_bytes) *
                             (bytes.a + bytes.b + bytes.c));
}

bool CandidateRunner::fits(const Problem& problem) const {
  const double needed_bytes = operand_bytes(problem);
  if (needed_bytes <= worker_.memory_limit_bytes() / 2) return true;
  if (options_.message)
    options_.message(fmt::format(
        "{} is not tuned: its operands take {:.1f} GiB, and the worker may hold {:.1f} GiB in all",
        to_string(problem), needed_bytes / (1 << 30), worker_.memory_limit_bytes() / (1 << 30)));
  return false;
}

// Returns the allowed time for filling the operands, if the worker does not have them yet.
double CandidateRunner::preparation_s(const Problem& problem) const {
  if (prepared_worker_ == worker_.pid() && prepared_ == problem) return 0;
  return operand_bytes(problem) / kFillBytesPerS;
}

std::optional<TimeReply> CandidateRunner::time(const Variant& variant, const Problem& problem,
                                               const TimeOptions& options) {
  if (over()) return std::nullopt;
  const RowId candidate = id(variant, signature_of(problem));
  if (rejected(candidate)) return std::nullopt;
  if (options.spilled == Spilled::kDrop && known_facts(candidate).spilled) {
    ++spilled_;
    return std::nullopt;
  }
  watch_reference();
  if (over()) return std::nullopt;
  const double limit_s = std::min(options.limit_ns * 1e-9, kLongestLimitS);
  std::vector<double> compile_s;
  for (const auto& [other, seconds] : compile_s_) compile_s.push_back(seconds);
  const auto packings = static_cast<double>(
      options.prepacked ? operand_sets(staged_problem(problem), options_.rotate_bytes) : 0);
  // One untimed run, one for the probe, and those that are taken again.
  const double watchdog_s = allowed_s(kCompile, compile_s) + preparation_s(problem) +
                            2 * limit_s * (options.samples + packings + kMostRetakes + 2);
  const Json request = {{"operation", "time"},
                        {"request", to_json(TimeRequest{.variant = variant,
                                                        .problem = problem,
                                                        .samples = options.samples,
                                                        .limit_ns = limit_s * 1e9,
                                                        .compute_units = options_.compute_units,
                                                        .rotate_bytes = options_.rotate_bytes,
                                                        .spilled = options.spilled,
                                                        .prepacked = options.prepacked})}};
  const Outcome outcome = ask(candidate, request, watchdog_s);
  SampleRecord sample = {.run = options_.run,
                         .candidate = candidate,
                         .problem = store_.problem_id(problem),
                         .purpose = options.purpose};
  if (outcome.failure) {
    sample.status = *outcome.failure;
    sample.detail = fmt::format("{} ({:.1f} s lost)", outcome.message, outcome.wall_s);
    store_.add_sample(sample);
    reject(candidate, variant, fmt::format("{}: {}", name(*outcome.failure), outcome.message),
           outcome.wall_s);
    return std::nullopt;
  }
  if (!outcome.reply) return std::nullopt;
  prepared_ = problem;
  prepared_worker_ = worker_.pid();
  TimeReply reply = time_reply_from_json(*outcome.reply);
  compile_s_.emplace(candidate, reply.compile_ns * 1e-9);
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
  if (!options.prepacked) store_.add_sample(sample);
  ++measured_;
  noise_.retaken += static_cast<std::size_t>(reply.retaken);
  noise_.noisy += static_cast<std::size_t>(reply.noisy);
  for (double& ns : reply.kernel_ns) ns /= level();
  reply.pack_ns /= level();
  return reply;
}

void CandidateRunner::count(const Variant& variant, const Problem& problem, double kernel_ns) {
  if (!options_.counters || !countable_ || over() || !(kernel_ns <= kLongestCountedNs)) return;
  const auto give_up = [&](const std::string& reason) {
    countable_ = false;
    if (options_.message) options_.message(fmt::format("counters are not read: {}", reason));
  };
  std::vector<double> compile_s;
  for (const auto& [other, seconds] : compile_s_) compile_s.push_back(seconds);
  const double watchdog_s = allowed_s(kCompile, compile_s) +
                            operand_bytes(problem) / kFillBytesPerS + kCountAllowanceS +
                            2 * kCountRuns * kernel_ns * 1e-9;
  const double deadline_s = this->deadline_s(watchdog_s);
  const Json request = {{"operation", "count"},
                        {"request", to_json(CountRequest{.variant = variant,
                                                         .problem = problem,
                                                         .rotate_bytes = options_.rotate_bytes})}};
  try {
    // There is no journal entry: what counting does to the machine is not the kernel's fault.
    const WorkerAnswer answer = worker_.ask(request, deadline_s, stop_);
    if (answer.fate == WorkerFate::kInterrupted) return;
    // A deadline set by the budget's end is not a hang.
    if (answer.fate == WorkerFate::kTimedOut && deadline_s < watchdog_s) return;
    if (answer.fate != WorkerFate::kAnswered) return give_up(answer.message);
    const Json& counted = answer.reply.at("counted");
    if (counted.is_null()) {
      countable_ = false;
      return;
    }
    const CounterReadings readings = counter_readings_from_json(counted);
    if (readings.counters.empty()) return give_up("no counter has a value");
    store_.put_counters(options_.device, id(variant, signature_of(problem)),
                        store_.problem_id(problem),
                        {.passes = readings.passes, .counters = readings.counters});
  } catch (const std::exception& error) {  // An invalid answer is also reported here.
    give_up(error.what());
  }
}

bool CandidateRunner::certified(const Variant& variant, const Signature& signature) {
  const RowId candidate = id(variant, signature);
  if (rejected(candidate)) return false;
  if (const auto verdict = store_.certificate(options_.device, candidate, kGeneratorVersion)) {
    acquit(candidate);
    return *verdict;
  }
  if (over()) return false;
  const Json request = {
      {"operation", "certify"}, {"variant", to_string(variant)}, {"signature", to_json(signature)}};
  const Outcome outcome = ask(candidate, request, allowed_s(kCertification, certification_s_));
  if (outcome.failure) {
    reject(candidate, variant,
           fmt::format("certification: {}: {}", name(*outcome.failure), outcome.message),
           outcome.wall_s);
    return false;
  }
  if (!outcome.reply) return false;
  const Certificate certificate = certificate_from_json(*outcome.reply);
  store_.put_certificate(options_.device, candidate, kGeneratorVersion, certificate.passed,
                         certificate.passed
                             ? fmt::format("{} cases, worst error {:.3f} of its bound",
                                           certificate.cases, certificate.worst_ratio)
                             : certificate.detail);
  if (certificate.passed) {
    certification_s_.push_back(outcome.wall_s);
    acquit(candidate);
  } else {
    reject(candidate, variant,
           fmt::format("{}: {}", name(SampleStatus::kWrongResult), certificate.detail),
           outcome.wall_s);
  }
  return certificate.passed;
}

}  // namespace rooftile
