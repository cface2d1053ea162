#include "runtime/dispatch/context_impl.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "runtime/call/slices.h"
#include "runtime/dispatch/context.h"
#include "runtime/dispatch/environment.h"
#include "runtime/host/host_tier.h"
#include "runtime/kernel/staging.h"
#include "runtime/support/background.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

// Smallest problem in flops that is logged for a device that is not calibrated, where the gain
// cannot be predicted. It takes tens of microseconds on any processor, which is about the cost of a
// submission.
constexpr double kLeastLoggedFlops = 1e6;

// While one slice is computed, the operands of another one are transferred.
constexpr int kSlicesAtATime = 2;

Deterministic deterministic_from_environment() {
  return environment_switch("ROOFTILE_DETERMINISTIC", false) ? Deterministic::kYes
                                                             : Deterministic::kNo;
}

/// Reports a database or a device that was named but does not exist, and a database that is locked.
/// Calls succeed without them, so a misspelt name would otherwise show only in the time of calls.
void warn_of_missing(const TunedData& data, bool database_is_named, bool device_is_named) {
  const bool is_default =
      data.missing == TunedData::Missing::kDatabase && !database_is_named && !device_is_named;
  const bool none_is_tuned = data.missing == TunedData::Missing::kDevice && !device_is_named;
  if (data.note.empty() || is_default || none_is_tuned) return;
  log_warning_once(data.note,
                   data.note + "; calls compute on the host unless they force the device");
}

/// Loads the machine's BLAS on another thread, because that takes about as long as reading the
/// database.
std::jthread load_blas_meanwhile() try {
  return thread_without_signals([](const std::stop_token&) {
    try {
      HostBlas::get();
    } catch (const std::exception&) {  // A later HostBlas::get() reports the error.
    }
  });
} catch (const std::system_error&) {  // No thread can be created.
  return {};
}

/// Time that the calibration measured on exactly this problem, if any.
std::optional<double> measured_ns(const HostRates& rates, const Problem& p) {
  Problem plain = packed_problem(p.m, p.n, p.k);
  plain.lda = p.lda, plain.ldb = p.ldb, plain.ldc = p.ldc;
  plain.alpha = p.alpha, plain.beta = p.beta;
  if (p != plain) return std::nullopt;
  for (const auto* points : {&rates.gemv, &rates.gemm})
    for (const HostPoint& point : *points)
      if (point.m == static_cast<double>(p.m) && point.n == static_cast<double>(p.n) &&
          point.k == static_cast<double>(p.k) && point.gflops > 0)
        return flops(p) / point.gflops;
  return std::nullopt;
}

}  // namespace

std::uint64_t next_owner() {
  static std::atomic<std::uint64_t> owner = 1;
  return owner++;
}

DecisionCache& DecisionCache::of_this_thread() {
  static thread_local DecisionCache cache;
  return cache;
}

Decision Context::Impl::decide(const Problem& p, const Residencies& where,
                               const Guard& guard) const {
  if (is_grouped(p)) return rooftile::decide(question_grouped(p, where, guard), data.model);
  Call call = question(p, where, guard);
  ask_device(call);
  return rooftile::decide(call, data.model);
}

Call Context::Impl::question(const Problem& p, const Residencies& where, const Guard& guard) const {
  Call question{.problem = p,
                .a = where.a,
                .b = where.b,
                .c = where.c,
                .precision = needs_float64(guard) ? Precision::kExact64 : precision_of(guard),
                .extra_passes_over_c = any(p.epilogue) ? 1.0 : 0.0,
                .c_is_checked = checks_spots(guard)};
  const double guard_bytes =
      (scans(guard) ? scanned_bytes(p) : 0) + (checks_spots(guard) ? checked_bytes(p) : 0);
  if (guard_bytes > 0 && data.calibration.host.gbps > 0) {
    question.guard_ns = guard_bytes / data.calibration.host.gbps;
    const auto checked = static_cast<double>(checks.load(std::memory_order_relaxed));
    if (checked > 0)
      question.rerun_probability =
          static_cast<double>(reruns.load(std::memory_order_relaxed)) / checked;
  }
  return question;
}

void Context::Impl::ask_device(Call& question) const {
  const Problem& p = question.problem;
  if (device == nullptr) {
    question.device_veto = data.note;
    question.device_veto_name = Veto::kNotTuned;
  } else if (ask_means(question); question.device_veto.empty()) {
    question.max_binding_bytes =
        static_cast<double>(device->profile().limits.max_storage_buffer_range_bytes);
    DeviceTier::Refusal refusal = device->veto(p);
    if (refusal.name != Veto::kDoesNotFit || !ask_for_parts(question)) {
      question.device_veto = std::move(refusal.reason);
      question.device_veto_name = refusal.name;
    }
    const Residencies where = {.a = question.a, .b = question.b, .c = question.c};
    if (all_resident(where) || packed_operand(where))
      if (const std::vector<RankedChoice> kernels = ranked(p, where); !kernels.empty())
        question.kernel_ns = kernels.front().expected_ns - question.pass_ns;
  }
}

bool Context::Impl::ask_for_parts(Call& question) const {
  const bool on_device = question.a != Residency::kHost || question.b != Residency::kHost ||
                         question.c != Residency::kHost;
  if (on_device) return false;  // Operands that do not fit cannot reside on the device.
  const std::vector<GemmCall> parts = slices_of({.problem = question.problem});
  const OperandPlaces places = {.c_is_checked = question.c_is_checked,
                                .max_binding_bytes = question.max_binding_bytes};
  for (const GemmCall& part : parts) {
    question.slices += 1;
    question.slice_transfers =
        question.slice_transfers +
        transfers(device->chooser()->choose(part.problem).problem, places, data.calibration.device);
  }
  return !parts.empty();
}

std::vector<GemmCall> Context::Impl::slices_of(const GemmCall& call) const {
  if (device == nullptr || device->fits(call.problem)) return {};
  return slices(call, [&](const Problem& p) { return device->fits(p, kSlicesAtATime); });
}

DeviceTier::InTurn Context::Impl::slices_in_turn(const std::vector<GemmCall>& parts,
                                                 Reason reason) {
  const bool forced = reason == Reason::kForced;
  if (is_guarded(guard_of(parts.front()))) return {};  // The guard checks each slice separately.
  DeviceTier::InTurn in_turn =
      device->gemm_in_turn(parts, forced ? WhileCompiling::kWait : while_compiling);
  for (const GemmCall& part : std::span(parts).first(in_turn.done)) {
    // Counts each slice as if it were a call of its own.
    auto* const calls = forced
                            ? untuned_counter(part.problem, std::numeric_limits<double>::infinity())
                            : decide_new(part.problem).untuned_calls;
    if (calls != nullptr) calls->fetch_add(1, std::memory_order_relaxed);
  }
  return in_turn;
}

std::vector<RankedChoice> Context::Impl::ranked(const Problem& p, const Residencies& where) const {
  if (device == nullptr) return {};
  if (is_grouped(p)) return device->chooser()->choose_on_device(staged_problem(p)).kernels;
  if (const std::optional<Operand> packed = packed_operand(where))
    return device->chooser()->ranked_prepacked(
        p, *packed, all_resident(where) ? StagedCopies::kNo : StagedCopies::kYes);
  return all_resident(where) ? device->chooser()->choose_on_device(p).kernels
                             : device->chooser()->ranked(p);
}

std::string Context::Impl::best_kernel(const Problem& p, const Residencies& where) const {
  const std::vector<RankedChoice> kernels = ranked(p, where);
  return kernels.empty() ? "" : short_name(kernels.front().candidate->variant);
}

std::string Context::Impl::quick_kernel(const Problem& p, double margin_ns) const {
  if (device == nullptr || while_compiling == WhileCompiling::kWait) return {};
  const Variant* const quick = device->quick_kernel(p, margin_ns);
  return quick == nullptr ? "" : short_name(*quick);
}

TierTimes Context::Impl::times_of(const Problem& p, const Choice& choice, double split_ns) const {
  // Largest ratio of predicted times at which a device that is predicted to lose is measured too. A
  // device is not opened only to measure it. The host has no BLAS for other types than float32: its
  // widened copies, whose pages the system has to find, took 10 ms instead of one beside an H100.
  const double near = p.types == Types{} ? 1.5 : 4;
  if (measure_calls == MeasureCalls::kNo || p.k == 0 || p.alpha == 0.0f) return {};
  const bool split = std::isfinite(split_ns);
  TierTimes::Predicted predicted = {
      .host_ns = choice.host_ns, .host1_ns = choice.host1_ns, .split_ns = split_ns};
  if (choice.tier == Tier::kDevice ||
      (choice.device_ns < near * choice.best_host_ns && device->opened())) {
    // Calls that are sliced are not timed.
    if (device->fits(p))
      predicted.device_ns = choice.device_ns;
    else if (!split)
      return {};
  }
  return TierTimes(predicted, split ? Tier::kSplit : choice.tier);
}

void Context::Impl::measured(TierTimes& times, double ns, const Problem& p) const {
  if (times.record_time(ns) && log != nullptr) log->say_changed(p, times);
}

void Context::Impl::run_on_host(const GemmCall& call, Tier host_tier) const {
  rooftile::run_on_host(*blas, call, host_tier, most_threads());
}

void Context::Impl::remember(const GemmCall& call, const HostRoute& route, const TierTimes& times,
                             RepeatedCalls& calls) const {
  const Problem& p = call.problem;
  // The record of repeated calls holds no tier, guard or devices: a call that sets one is not kept.
  const bool asks_for_more =
      call.tier != TierChoice::kAuto || call.guard != Guard{} || call.devices != Devices::kDefault;
  if (asks_for_more || route.tier == Tier::kHost64 || p.k == 0 || p.alpha == 0.0f) return;
  const std::optional<PlainProduct> product = plain_product(p);
  if (!product) return;
  calls.store(*product, owner.load(std::memory_order_relaxed), route, times);
}

std::atomic<std::int64_t>* Context::Impl::untuned_counter(const Problem& p,
                                                          double most_gain_ns) const {
  if (untuned == nullptr || !counts || p.alpha == 0.0f || p.k == 0) return nullptr;
  const bool worthwhile =
      is_calibrated(data.model.device()) ? most_gain_ns > 0 : flops(p) >= kLeastLoggedFlops;
  if (!worthwhile || data.buckets.contains(bucket_of(p)) || (device != nullptr && !device->fits(p)))
    return nullptr;
  return untuned->counter(p);
}

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::jthread loading = load_blas_meanwhile();
  check_environment();
  const std::string tier = environment("ROOFTILE_TIER");
  impl_->tier = options.tier   ? *options.tier
                : tier.empty() ? TierChoice::kAuto
                               : parse_tier_choice(tier);
  impl_->deterministic =
      options.deterministic ? *options.deterministic : deterministic_from_environment();
  // Timings, which differ from rank to rank, must not change where calls run.
  const bool alike =
      mpi_ranks() > 1 && !options.deterministic && environment("ROOFTILE_DETERMINISTIC").empty();
  impl_->while_compiling = alike || impl_->deterministic == Deterministic::kYes
                               ? WhileCompiling::kWait
                               : options.while_compiling;
  const bool measures = options.measure_calls
                            ? *options.measure_calls == MeasureCalls::kYes
                            : environment_switch("ROOFTILE_MEASURE_CALLS", !alike);
  if (!measures || impl_->deterministic == Deterministic::kYes)
    impl_->measure_calls = MeasureCalls::kNo;
  const std::string precision = environment("ROOFTILE_PRECISION");
  impl_->precision = options.precision   ? *options.precision
                     : precision.empty() ? Precision::kStandard
                                         : parse_precision(precision);
  if (log_level() == LogLevel::kDecisions) impl_->log = std::make_unique<DecisionLog>();
  if (alike && impl_->log != nullptr) DecisionLog::say_ranks(mpi_ranks(), measures);
  const std::filesystem::path database =
      options.database.empty() ? default_database_path() : options.database;
  const std::string wanted_device =
      options.device.empty() ? environment("ROOFTILE_DEVICE") : options.device;
  impl_->wanted_device = wanted_device;
  const std::string devices = environment("ROOFTILE_DEVICES");
  impl_->devices = options.devices   ? *options.devices
                   : devices.empty() ? Devices::kOne
                                     : parse_devices(devices);
  impl_->split_always = options.split_always;
  impl_->adopted = options.adopted != nullptr;
  const std::filesystem::path cache_folder =
      options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
  impl_->resident =
      std::make_unique<ResidentSource>(options.adopted, wanted_device, database, cache_folder,
                                       impl_->precision, impl_->deterministic);
  impl_->data = load_tuned_data(database, wanted_device, impl_->deterministic,
                                options.adopted != nullptr ? &options.adopted->profile() : nullptr);
  TunedData& data = impl_->data;
  if (options.needs_device && !data.ranking) fail(ErrorCode::kUnsupported, "{}", data.note);
  warn_of_missing(data, !options.database.empty() || !environment("ROOFTILE_DB").empty(),
                  !wanted_device.empty());
  const bool counts = options.log_untuned ? *options.log_untuned == LogUntuned::kYes
                                          : environment_switch("ROOFTILE_LOG_UNTUNED", true);
  if (counts && data.counted_device)
    impl_->untuned = std::make_shared<UntunedLog>(data.file, *data.counted_device);
  impl_->grouped_counter = impl_->make_grouped_counter();
  if (data.ranking)
    impl_->device.set(std::make_unique<DeviceTier>(
        *data.profile, data.calibration.device, *std::move(data.ranking), cache_folder,
        impl_->kernels_on_demand(*data.profile), data.calibration.host.gbps));
  impl_->blas = &HostBlas::get();
}

Context::~Context() {
  // Device-resident data may outlive the context, and so may the kernels for them.
  if (impl_->device != nullptr && impl_->device->chooser()->on_demand() != nullptr)
    impl_->device->chooser()->on_demand()->when_changed({});
}

Explanation Context::explain(const GemmCall& call, const Residencies& given) const {
  if (impl_->forbids_half_sums(call)) return explain(Impl::without_half_sums(call), given);
  const Problem& p = call.problem;
  const Guard guard = impl_->guard_of(call);
  const TierChoice choice = impl_->choice_of(call);
  if (choice == TierChoice::kDevice) impl_->use_untuned_device();  // Else the decision says why.
  const bool packed = call.packed != nullptr;
  const Residencies where = packed ? residencies_of(call) : given;
  const Means means = impl_->route_of(p, where).means;
  Explanation explanation{
      .decision = packed ? impl_->decide(call, guard) : impl_->decide(p, where, guard),
      .device_name = device_name(),
      .kernel = means == Means::kNone ? "" : impl_->best_kernel(p, where),
      .means = std::string(name(means)),
      .note = impl_->data.note,
      .measured_host_ns = measured_ns(impl_->data.calibration.host, p),
      .measured_host1_ns = measured_ns(impl_->data.calibration.host1, p)};
  if (packed && impl_->device != nullptr)
    if (const std::vector<RankedChoice> kernels = impl_->device->chooser()->ranked(call);
        !kernels.empty())
      explanation.kernel = short_name(kernels.front().candidate->variant);
  explanation.forced = choice != TierChoice::kAuto;
  if (explanation.forced) explanation.decision.tier = tier_of(choice);
  if (choice == TierChoice::kDevice)
    explanation.forced_device = impl_->forced_device(p, explanation.decision.veto_name);
  if (const Tier tier = explanation.decision.tier; tier != Tier::kDevice) {
    explanation.decision.tier = Impl::precise_host(tier, guard);
    explanation.for_precision =
        explanation.decision.tier != tier || (!explanation.forced && needs_float64(guard));
  }
  if (is_grouped(p)) {  // Such a call waits for its kernel, and is not split.
    if (impl_->device != nullptr)
      explanation.measured_kernel_ns =
          impl_->device->chooser()->ranking().measured_ns(kernel_problem(p));
    return explanation;
  }
  if (explanation.decision.tier == Tier::kDevice && !all_resident(where) && !packed_operand(where))
    explanation.quick_kernel =
        impl_->quick_kernel(p, explanation.forced ? std::numeric_limits<double>::infinity()
                                                  : device_margin_ns(explanation.decision));
  if (impl_->device != nullptr)
    explanation.measured_kernel_ns =
        impl_->device->chooser()->ranking().measured_ns(kernel_problem(p));
  explanation.split = impl_->explain_split(call, guard, where);
  if (explanation.split.wins) explanation.decision.tier = Tier::kSplit;
  return explanation;
}

Decision Context::decide(const Problem& p, const Residencies& where) const {
  return impl_->decide(p, where);
}

Decision Context::decide(const OperationCall& operation) const {
  return decide_operation(operation, impl_->data.model);
}

Tier Context::predicted_tier(const Problem& p) { return impl_->decide_new(p).tier; }

const DispatchModel& Context::model() const { return impl_->data.model; }

const std::string& Context::device_name() const {
  static const std::string none;
  return impl_->device != nullptr ? impl_->device->profile().name : none;
}

const std::string& Context::note() const { return impl_->data.note; }

std::optional<Answer> Context::last_answer() const {
  const LastAnswer& last = DecisionCache::of_this_thread().last;
  if (last.context != impl_->id) return std::nullopt;
  return last.answer();
}

void Context::forget_last_answer() { DecisionCache::of_this_thread().last.context = 0; }

std::shared_ptr<Resident> Context::resident() { return impl_->resident->get(impl_->device.get()); }

std::shared_ptr<Resident> Context::opened_resident() const { return impl_->resident->opened(); }

DeviceTierState Context::device_state() const {
  return impl_->device != nullptr ? impl_->device->state() : DeviceTierState{};
}

}  // namespace rooftile
