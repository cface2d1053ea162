#include "tuner/worker/candidate_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/numbers/statistics.h"
#include "generator/compiler_work.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

constexpr double kLongestLimitS = 10;  // A slower call is not measured at all.
// Slowdown of the machine from which a time-out may be its fault, and the largest one that extends
// a limit.
constexpr double kSlow = 2, kSlowest = 10;

}  // namespace

CandidateRunner::CandidateRunner(Store& store, WorkerProcess& worker, const Budget& budget,
                                 const std::atomic<bool>& stop, RunnerOptions options)
    : store_(store),
      options_(std::move(options)),
      block_list_(store, options_.device),
      requests_(store, options_.device, worker, budget, stop,
                options_.account != nullptr ? *options_.account : own_account_),
      reference_(store, options_.run, requests_),
      ahead_(store, options_.device, options_.compilers, stop),
      watchdog_(options_.rotate_bytes, options_.watchdog, options_.keeps_operands),
      log_(store, options_.device),
      counters_(store, options_.device, options_.message) {
  if (options_.message && memory_is_limited())
    options_.message(
        "the memory of processes is limited (ulimit -v): a driver that gets none may crash or "
        "hang, "
        "so that crashes and time-outs black-list no kernel in this run");
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
  block_list_.block(candidate, with_cost);
  ++failures_;
  requests_.lose(wall_s);
  if (options_.message)
    options_.message(fmt::format("black-listed {}: {}", short_name(variant), with_cost));
}

std::optional<double> CandidateRunner::time_reference() {
  const ReferenceKernel& kernel = *options_.reference;
  const RowId candidate = id(kernel.variant, signature_of(kernel.problem));
  if (rejected(candidate)) return std::nullopt;
  return reference_.time_ns(candidate, kernel, options_.compute_units);
}

double CandidateRunner::slowdown_now() {
  if (!options_.reference) return 1;
  const auto scope = account().during(Activity::kReference);
  // The first reading lets a new worker compile the reference.
  for (int reading = 0; reading < 2; ++reading)
    if (!time_reference()) return 1;
  return reference_.slowdown();
}

CandidateOutcome CandidateRunner::ask(RowId candidate, const Json& request, double watchdog_s) {
  CandidateOutcome outcome = requests_.ask(candidate, request, watchdog_s);
  if (outcome.failure != SampleStatus::kTimedOut) return outcome;
  requests_.lose(0);  // The start of the next worker is lost, too.
  const double slowdown = slowdown_now();
  if (slowdown < kSlow) return outcome;
  requests_.lose(outcome.wall_s);
  return requests_.ask(candidate, request, watchdog_s * std::min(slowdown, kSlowest));
}

void CandidateRunner::note_lack_of_memory() {
  if (requests_.lack_of_memory().empty() || std::exchange(lacked_memory_, true)) return;
  if (options_.message)
    options_.message(fmt::format(
        "kernels are left out, not black-listed, because memory ran out: {}; tune again with more",
        requests_.lack_of_memory()));
}

NoiseReport CandidateRunner::noise() const {
  NoiseReport report = log_.noise();
  report.slowdown = drift_.slowdown();
  return report;
}

bool CandidateRunner::fits(const Problem& problem) const {
  const double needed_bytes = operand_bytes(problem, options_.rotate_bytes);
  const double limit_bytes = requests_.memory_limit_bytes();
  if (needed_bytes <= limit_bytes / 2) return true;
  if (options_.message)
    options_.message(fmt::format(
        "{} is not tuned: its operands take {:.1f} GiB, and the worker may hold {:.1f} GiB in all",
        to_string(problem), needed_bytes / (1 << 30), limit_bytes / (1 << 30)));
  return false;
}

void CandidateRunner::fail(const CandidateOutcome& outcome, SampleRecord sample,
                           const Variant& variant) {
  sample.status = *outcome.failure;
  sample.detail = fmt::format("{} ({:.1f} s lost)", outcome.message, outcome.wall_s);
  store_.add_sample(sample);
  reject(sample.candidate, variant, fmt::format("{}: {}", name(*outcome.failure), outcome.message),
         outcome.wall_s);
}

std::optional<CandidateOutcome> CandidateRunner::failure_ahead(RowId candidate) {
  const auto scope = account().during(Activity::kAwaitingCompilers);
  std::optional<CandidateOutcome> outcome = ahead_.finish(candidate);
  if (!outcome || !outcome->failure) return std::nullopt;
  // On a machine that has become slower the next request compiles it again, with a longer limit.
  if (outcome->failure == SampleStatus::kTimedOut && slowdown_now() >= kSlow) return std::nullopt;
  return outcome;
}

bool CandidateRunner::finish_ahead(const Variant& variant, const Problem& problem,
                                   SamplePurpose purpose) {
  const RowId candidate = id(variant, signature_of(problem));
  const std::optional<CandidateOutcome> failure = failure_ahead(candidate);
  if (!failure) return true;
  fail(*failure,
       {.run = options_.run,
        .candidate = candidate,
        .problem = store_.problem_id(problem),
        .purpose = purpose},
       variant);
  return false;
}

void CandidateRunner::await_a_compiler() {
  const auto scope = account().during(Activity::kAwaitingCompilers);
  options_.compilers->wait_for_any();
  ahead_.settle();
}

void CandidateRunner::compile_ahead(std::vector<Variant> variants, const Problem& problem,
                                    Wanted wanted) {
  if (requests_.over() || !ahead_.pays()) return;
  const Signature signature = signature_of(problem);
  // Where all are waited for, the longest compilation goes first, so that the others fill the
  // processors beside it.
  if (options_.shared_processors)
    std::ranges::stable_sort(variants, std::ranges::greater(),
                             [&](const Variant& v) { return compiler_work(v, signature); });
  std::set<RowId> candidates;
  for (const Variant& variant : variants)
    if (const RowId candidate = id(variant, signature); !rejected(candidate)) {
      candidates.insert(candidate);
      ahead_.begin(candidate,
                   {{"operation", "compile"},
                    {"variant", to_string(variant)},
                    {"signature", to_json(signature)}},
                   watchdog_.compilation_s());
    }
  if (wanted == Wanted::kNow) options_.compilers->hurry(candidates);
  if (!options_.shared_processors) return;
  for (const Variant& variant : variants) finish_ahead(variant, problem, SamplePurpose::kSearch);
}

std::optional<TimeReply> CandidateRunner::time(const Variant& variant, const Problem& problem,
                                               const TimeOptions& options) {
  if (requests_.over()) return std::nullopt;
  const RowId candidate = id(variant, signature_of(problem));
  if (rejected(candidate) || !finish_ahead(variant, problem, options.purpose)) return std::nullopt;
  if (options.spilled == Spilled::kDrop && log_.spills(candidate)) {
    log_.drop();
    return std::nullopt;
  }
  if (options_.reference) {
    const auto scope = account().during(Activity::kReference);
    drift_.update([&] { return time_reference(); }, [&] { return requests_.over(); });
  }
  note_lack_of_memory();
  if (requests_.over()) return std::nullopt;
  const double limit_s = std::min(options.limit_ns * 1e-9, kLongestLimitS);
  const int packings =
      options.prepacked
          ? static_cast<int>(operand_sets(staged_problem(problem), options_.rotate_bytes))
          : 0;
  const Json request = {{"operation", "time"},
                        {"request", to_json(TimeRequest{.variant = variant,
                                                        .problem = problem,
                                                        .samples = options.samples,
                                                        .limit_ns = limit_s * 1e9,
                                                        .compute_units = options_.compute_units,
                                                        .rotate_bytes = options_.rotate_bytes,
                                                        .spilled = options.spilled,
                                                        .prepacked = options.prepacked,
                                                        .code = ahead_.take_code(candidate)})}};
  std::optional<TimeReply> answered;
  CandidateOutcome outcome;
  {
    const auto scope = account().during(Activity::kMeasuring);
    outcome =
        ask(candidate, request,
            watchdog_.timing_s(problem, options.samples + packings, limit_s, requests_.worker()));
    answered = read_reply(outcome, time_reply_from_json);
    if (answered) {
      account().shift(answered->seconds);
      ++timed_;
      around_s_ += outcome.wall_s;
      for (const Activity other : {Activity::kKernels, Activity::kCompiling, Activity::kOperands,
                                   Activity::kClocks, Activity::kQuietWaits})
        around_s_ -= answered->seconds[static_cast<std::size_t>(other)];
    }
  }
  note_lack_of_memory();
  SampleRecord sample = {.run = options_.run,
                         .candidate = candidate,
                         .problem = store_.problem_id(problem),
                         .purpose = options.purpose};
  if (outcome.failure) {
    fail(outcome, sample, variant);
    return std::nullopt;
  }
  if (!answered) return std::nullopt;
  TimeReply& reply = *answered;
  reply.compile_ns = ahead_.compiled(candidate, reply.compile_ns);
  watchdog_.timed(candidate, reply.compile_ns * 1e-9, problem, requests_.worker());
  sample.level = drift_.level_of_run();
  if (!log_.add(sample, reply, options.prepacked)) return std::nullopt;
  for (double& ns : reply.kernel_ns) ns /= level();
  reply.pack_ns /= level();
  return reply;
}

void CandidateRunner::count(const Variant& variant, const Problem& problem, double kernel_ns) {
  if (!options_.counters || requests_.over() || !(kernel_ns <= kLongestCountedNs)) return;
  const auto scope = account().during(Activity::kMeasuring);
  counters_.read(id(variant, signature_of(problem)),
                 {.variant = variant, .problem = problem, .rotate_bytes = options_.rotate_bytes},
                 requests_, watchdog_.counting_s(problem, kernel_ns));
}

bool CandidateRunner::certified(const Variant& variant, const Signature& signature) {
  const RowId candidate = id(variant, signature);
  if (rejected(candidate)) return false;
  if (const auto verdict = store_.certificate(options_.device, candidate, kGeneratorVersion)) {
    block_list_.settle(candidate);
    return *verdict;
  }
  if (requests_.over()) return false;
  const auto fails = [&](std::string_view at, const CandidateOutcome& outcome) {
    reject(candidate, variant, fmt::format("{}{}: {}", at, name(*outcome.failure), outcome.message),
           outcome.wall_s);
    return false;
  };
  if (const auto failure = failure_ahead(candidate)) return fails("", *failure);
  if (requests_.over()) return false;
  const Json request = certify_request(variant, signature, ahead_.take_code(candidate));
  CandidateOutcome outcome;
  {
    const auto scope = account().during(Activity::kCertificates);
    outcome = ask(candidate, request, watchdog_.certification_s());
  }
  const auto answered = read_reply(outcome, certificate_from_json);
  note_lack_of_memory();
  if (outcome.failure) return fails("certification: ", outcome);
  if (!answered) return false;
  const Certificate& certificate = *answered;
  store_.put_certificate(options_.device, candidate, kGeneratorVersion, certificate.passed,
                         certificate.passed
                             ? fmt::format("{} cases, worst error {:.3f} of its bound",
                                           certificate.cases, certificate.worst_ratio)
                             : certificate.detail);
  if (certificate.passed) {
    watchdog_.certified(outcome.wall_s);
    block_list_.settle(candidate);
  } else {
    reject(candidate, variant,
           fmt::format("{}: {}", name(SampleStatus::kWrongResult), certificate.detail),
           outcome.wall_s);
  }
  return certificate.passed;
}

}  // namespace rooftile
