#include "runtime/context.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "db/store.h"
#include "runtime/background.h"
#include "runtime/call_checks.h"
#include "runtime/context_impl.h"
#include "runtime/environment.h"
#include "runtime/float_environment.h"
#include "runtime/host_tier.h"
#include "runtime/log.h"
#include "runtime/panels.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"relaxed", "standard", "high", "exact64"};
constexpr std::array<std::string_view, 5> kTierChoices = {"auto", "device", "host", "host1",
                                                          "host64"};

// Of a problem whose chances on a device that is not calibrated nobody can tell: tens of
// microseconds on any processor, which is what a submission costs.
constexpr double kLeastLoggedFlops = 1e6;

// While one is computed, another one's operands are on their way.
constexpr int kPartsAtATime = 2;

Tier tier_of(TierChoice choice) {
  switch (choice) {
    case TierChoice::kDevice:
      return Tier::kDevice;
    case TierChoice::kHost1:
      return Tier::kHost1;
    case TierChoice::kHost64:
      return Tier::kHost64;
    default:
      return Tier::kHost;
  }
}

Deterministic deterministic_from_environment() {
  return environment_switch("ROOFTILE_DETERMINISTIC", false) ? Deterministic::kYes
                                                             : Deterministic::kNo;
}

/// Reports a database or a device that was named and is not there. Calls succeed without them, so
/// a misspelt name would otherwise only show in the time that they take.
void warn_of_missing(const TunedData& data, bool database_is_named, bool device_is_named) {
  const bool missing = data.missing == TunedData::Missing::kDatabase
                           ? database_is_named || device_is_named
                           : data.missing == TunedData::Missing::kDevice && device_is_named;
  if (missing)
    log_warning_once(data.note, fmt::format("{}; this context computes on the host", data.note));
}

/// Loading the machine's BLAS takes about as long as reading the database.
std::jthread load_blas_meanwhile() try {
  return thread_without_signals([](const std::stop_token&) {
    try {
      HostBlas::get();
    } catch (const std::exception&) {  // whoever needs it will hear why
    }
  });
} catch (const std::system_error&) {  // no thread to be had
  return {};
}

/// What the calibration measured on this very problem.
std::optional<double> measured_ns(const HostRates& rates, const Problem& p) {
  Problem plain = packed_problem(p.m, p.n, p.k);
  plain.lda = p.lda, plain.ldb = p.ldb, plain.ldc = p.ldc;
  plain.alpha = p.alpha, plain.beta = p.beta;
  if (p != plain) return std::nullopt;
  const auto same = std::ranges::find_if(rates.gemm, [&](const HostPoint& point) {
    return point.m == static_cast<double>(p.m) && point.n == static_cast<double>(p.n) &&
           point.k == static_cast<double>(p.k) && point.gflops > 0;
  });
  if (same == rates.gemm.end()) return std::nullopt;
  return flops(p) / same->gflops;
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

std::span<const std::string_view> tier_choice_names() { return kTierChoices; }
std::span<const std::string_view> precision_names() { return kPrecisions; }

TierChoice parse_tier_choice(std::string_view text) {
  for (std::size_t i = 0; i < kTierChoices.size(); ++i)
    if (kTierChoices[i] == text) return static_cast<TierChoice>(i);
  fail(ErrorCode::kInvalidArgument, "unknown tier '{}'; known: auto, device, host, host1, host64",
       text);
}

Precision parse_precision(std::string_view text) {
  for (std::size_t i = 0; i < kPrecisions.size(); ++i)
    if (kPrecisions[i] == text) return static_cast<Precision>(i);
  fail(ErrorCode::kInvalidArgument,
       "unknown precision '{}'; known: relaxed, standard, high, exact64", text);
}

Decision Context::Impl::decide(const Problem& p, const Residencies& where,
                               const Guard& guard) const {
  const QuietArithmetic quiet;
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
    question.reach_bytes =
        static_cast<double>(device->profile().limits.max_storage_buffer_range_bytes);
    DeviceTier::Refusal refusal = device->veto(p);
    if (refusal.name != Veto::kDoesNotFit || !ask_for_parts(question)) {
      question.device_veto = std::move(refusal.reason);
      question.device_veto_name = refusal.name;
    }
    const Residencies where = {.a = question.a, .b = question.b, .c = question.c};
    if (all_resident(where) || packed_operand(where))
      if (const std::vector<RankedChoice> kernels = ranked(p, where); !kernels.empty())
        question.kernel_ns = kernels.front().expected_ns;
  }
}

bool Context::Impl::ask_for_parts(Call& question) const {
  const bool on_device = question.a != Residency::kHost || question.b != Residency::kHost ||
                         question.c != Residency::kHost;
  if (on_device) return false;  // what does not fit is not there
  const std::vector<GemmCall> parts = panels_of({.problem = question.problem});
  const OperandPlaces places = {.c_is_checked = question.c_is_checked,
                                .reach_bytes = question.reach_bytes};
  for (const GemmCall& part : parts) {
    question.parts += 1;
    question.parts_transfers =
        question.parts_transfers +
        transfers(device->route(part.problem).problem, places, data.calibration.device);
  }
  return !parts.empty();
}

std::vector<GemmCall> Context::Impl::panels_of(const GemmCall& call) const {
  if (device == nullptr || device->fits(call.problem)) return {};
  return panels(call, [&](const Problem& p) { return device->fits(p, kPartsAtATime); });
}

DeviceTier::InTurn Context::Impl::parts_in_turn(const std::vector<GemmCall>& parts, Reason reason) {
  const bool forced = reason == Reason::kForced;
  if (is_guarded(guard_of(parts.front()))) return {};  // parts are looked at one by one
  DeviceTier::InTurn in_turn =
      device->gemm_in_turn(parts, forced ? WhileCompiling::kWait : while_compiling);
  for (const GemmCall& part : std::span(parts).first(in_turn.done)) {
    // As where the parts are calls of their own.
    auto* const calls = forced
                            ? untuned_counter(part.problem, std::numeric_limits<double>::infinity())
                            : decide_new(part.problem).untuned_calls;
    if (calls != nullptr) calls->fetch_add(1, std::memory_order_relaxed);
  }
  return in_turn;
}

std::vector<RankedChoice> Context::Impl::ranked(const Problem& p, const Residencies& where) const {
  if (device == nullptr) return {};
  if (const std::optional<Operand> packed = packed_operand(where))
    return device->ranked_prepacked(p, *packed,
                                    all_resident(where) ? StagedCopies::kNo : StagedCopies::kYes);
  return all_resident(where) ? device->ranked_for_resident(p) : device->ranked(p);
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

TierTimes Context::Impl::times_of(const Problem& p, const Choice& choice) const {
  // A product that the host is predicted to win by less may be the device's after all. Nobody opens
  // a device to find out.
  constexpr double kNear = 1.5;
  if (measure_calls == MeasureCalls::kNo || p.k == 0 || p.alpha == 0.0f) return {};
  TierTimes::Predicted predicted = {.host_ns = choice.host_ns, .host1_ns = choice.host1_ns};
  if (choice.tier == Tier::kDevice ||
      (choice.device_ns < kNear * choice.best_host_ns && device->opened())) {
    if (!device->fits(p)) return {};
    predicted.device_ns = choice.device_ns;
  }
  return TierTimes(predicted, choice.tier);
}

void Context::Impl::measured(TierTimes& times, double ns, const Problem& p) const {
  if (times.took(ns) && log != nullptr) log->say_changed(p, times);
}

CachedDecision Context::Impl::decide_new(const Problem& p) {
  const QuietArithmetic quiet;
  const Choice choice =
      choose(question(p, {}, {}), data.model, [this](Call& call) { ask_device(call); });
  if (choice.veto_name == Veto::kDeviceGone) device->say_gone();
  request_kernel(p, choice);
  const double margin_ns = choice.best_host_ns - choice.device_ns;
  if (log != nullptr)
    log->say(p, decide(p, {}), best_kernel(p),
             choice.tier == Tier::kDevice ? quick_kernel(p, margin_ns) : "");
  return {.tier = choice.tier,
          .host = faster_host(choice.host_ns, choice.host1_ns),
          .device_margin_ns = margin_ns,
          .times = times_of(p, choice),
          .untuned_calls = untuned_counter(p, choice.best_host_ns - choice.least_device_ns)};
}

void Context::Impl::device_failed(const Problem& p, const Error& error) {
  device->say(error);
  if (device->veto(p).name != Veto::kNone) owner.store(next_owner());
}

void Context::Impl::run_on_host(const GemmCall& call, Tier host_tier) const {
  rooftile::run_on_host(*blas, call, host_tier, most_threads());
}

void Context::Impl::remember(const GemmCall& call, const HostRoute& route, const TierTimes& times,
                             RepeatedCalls& calls) const {
  const Problem& p = call.problem;
  // A tier or a guard of the call's own is none of its product.
  const bool asks_for_more = call.tier != TierChoice::kAuto || call.guard != Guard{};
  if (asks_for_more || route.tier == Tier::kHost64 || p.k == 0 || p.alpha == 0.0f) return;
  const std::optional<PlainProduct> product = plain_product(p);
  if (!product) return;
  calls.store(*product, owner.load(std::memory_order_relaxed), route, times);
}

std::atomic<std::int64_t>* Context::Impl::untuned_counter(const Problem& p,
                                                          double most_gain_ns) const {
  const QuietArithmetic quiet;
  if (untuned == nullptr || !counts || p.alpha == 0.0f || p.k == 0) return nullptr;
  const bool worthwhile =
      is_calibrated(data.model.device()) ? most_gain_ns > 0 : flops(p) >= kLeastLoggedFlops;
  if (!worthwhile || data.buckets.contains(bucket_of(p)) || (device != nullptr && !device->fits(p)))
    return nullptr;
  return untuned->counter(p);
}

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::jthread loading = load_blas_meanwhile();
  const QuietFloats quiet;
  check_environment();
  const std::string tier = environment("ROOFTILE_TIER");
  impl_->tier = options.tier   ? *options.tier
                : tier.empty() ? TierChoice::kAuto
                               : parse_tier_choice(tier);
  impl_->deterministic =
      options.deterministic ? *options.deterministic : deterministic_from_environment();
  impl_->while_compiling =
      impl_->deterministic == Deterministic::kYes ? WhileCompiling::kWait : options.while_compiling;
  const bool measures = options.measure_calls ? *options.measure_calls == MeasureCalls::kYes
                                              : environment_switch("ROOFTILE_MEASURE_CALLS", true);
  if (!measures || impl_->deterministic == Deterministic::kYes)
    impl_->measure_calls = MeasureCalls::kNo;
  const std::string precision = environment("ROOFTILE_PRECISION");
  impl_->precision = options.precision   ? *options.precision
                     : precision.empty() ? Precision::kStandard
                                         : parse_precision(precision);
  if (log_level() == LogLevel::kDecisions) impl_->log = std::make_unique<DecisionLog>();
  const std::filesystem::path database =
      options.database.empty() ? default_database_path() : options.database;
  const std::string wanted_device =
      options.device.empty() ? environment("ROOFTILE_DEVICE") : options.device;
  const std::filesystem::path cache_folder =
      options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
  impl_->resident = std::make_unique<ResidentSource>(options.adopted, wanted_device, database,
                                                     cache_folder, impl_->precision);
  impl_->data = load_tuned_data(database, wanted_device, impl_->deterministic,
                                options.adopted != nullptr ? &options.adopted->profile() : nullptr);
  TunedData& data = impl_->data;
  warn_of_missing(data, !options.database.empty() || !environment("ROOFTILE_DB").empty(),
                  !wanted_device.empty());
  const bool counts = options.log_untuned ? *options.log_untuned == LogUntuned::kYes
                                          : environment_switch("ROOFTILE_LOG_UNTUNED", true);
  if (counts && data.counted_device)
    impl_->untuned = std::make_unique<UntunedLog>(data.file, *data.counted_device);
  if (data.ranking)
    impl_->device = std::make_unique<DeviceTier>(
        *data.profile, data.calibration.device, *std::move(data.ranking), cache_folder,
        impl_->kernels_on_demand(cache_folder), data.calibration.host.gbps);
  impl_->blas = &HostBlas::get();
}

Context::~Context() {
  // Data that stay on the device may outlive the context, and the kernels for them as well.
  if (impl_->device != nullptr && impl_->device->on_demand() != nullptr)
    impl_->device->on_demand()->when_changed({});
}

void Context::gemm(const GemmCall& call) {
  if (call.packed != nullptr) return gemm_packed(call);
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  validate_call(call);
  const Problem& p = call.problem;
  const auto answered = [&](Tier tier, Reason reason) {
    cache.last.set(impl_->id, p, tier, reason);
  };
  if (is_empty(p)) return answered(Tier::kHost, Reason::kNothingToDo);
  if (impl_->forbids_half_sums(call)) return gemm(Impl::without_half_sums(call));
  const auto in_parts = [&](const std::vector<GemmCall>& parts, Reason reason) {
    const DeviceTier::InTurn in_turn = impl_->parts_in_turn(parts, reason);
    if (in_turn.gone && reason == Reason::kForced) throw *in_turn.gone;
    if (in_turn.gone) impl_->device_failed(p, *in_turn.gone);
    // Each of the rest decides for itself, and finds its equals' decision in the cache.
    Tier tier = Tier::kDevice;
    for (const GemmCall& part : std::span(parts).subspan(in_turn.done)) {
      gemm(part);
      const LastAnswer& last = cache.last;
      if (in_turn.gone) {
        tier = last.tier;
        reason = Reason::kFailed;
        continue;
      }
      if (last.reason == Reason::kPredicted || last.reason == Reason::kForced) continue;
      tier = last.tier;
      reason = last.reason;
    }
    answered(tier, reason);
  };
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  if (choice == TierChoice::kDevice) {
    const Guard guard = impl_->guard_of(call);
    if (needs_float64(guard)) Impl::refuse_device(guard);
    if (impl_->device == nullptr)
      fail(ErrorCode::kUnsupported, "the device tier was asked for, but: {}", impl_->data.note);
    if (const std::vector<GemmCall> parts = impl_->panels_of(call); !parts.empty()) {
      if (is_guarded(guard) && Impl::rounds_between(parts, call))
        fail(
            ErrorCode::kUnsupported,
            "{} does not fit the device's buffers and would be cut along k, where each part rounds "
            "C: with a guard that is not done",
            to_string(p));
      return in_parts(parts, Reason::kForced);
    }
    if (const DeviceTier::Refusal refusal = impl_->device->veto(p); !refusal.reason.empty())
      fail(ErrorCode::kUnsupported, "{}", refusal.reason);
    // Whoever asks for the device wants it faster, won or not.
    if (auto* calls = impl_->untuned_counter(p, std::numeric_limits<double>::infinity()))
      calls->fetch_add(1, std::memory_order_relaxed);
    if (is_guarded(guard)) return impl_->gemm_with_guard(call, guard, true, cache.last);
    const DeviceTier::Ran ran = impl_->device->gemm(call, impl_->wait_of(Reason::kForced));
    return cache.last.set(impl_->id, p, Tier::kDevice, Reason::kForced, ran.kernel);
  }
  if (choice != TierChoice::kAuto) {
    const Tier tier = impl_->run_on_forced_host(call, tier_of(choice));
    const Reason reason = tier == tier_of(choice) ? Reason::kForced : Reason::kPrecision;
    impl_->remember(call, {.tier = tier, .reason = reason}, {}, cache.repeated);
    return answered(tier, reason);
  }

  if (const Guard guard = impl_->guard_of(call); is_guarded(guard)) {
    const std::vector<GemmCall> parts = impl_->panels_of(call);
    if (!parts.empty() && impl_->decide(p, {}, guard).tier == Tier::kDevice) {
      if (!Impl::rounds_between(parts, call)) return in_parts(parts, Reason::kPredicted);
      impl_->run_on_host(call, Tier::kHost64);
      return answered(Tier::kHost64, Reason::kPrecision);
    }
    return impl_->gemm_with_guard(call, guard, false, cache.last);
  }

  const std::uint64_t owner = impl_->owner.load(std::memory_order_relaxed);
  DecisionCache::Entry* entry = cache.find(p, owner);
  if (entry == nullptr) entry = cache.store(p, owner, impl_->decide_new(p));
  const CachedDecision& chosen = entry->decision;
  TierTimes& times = entry->decision.times;
  const auto decided = [&](Tier tier, Reason reason) {
    cache.last.set_decided(impl_->id, entry->problem, tier, reason);
  };
  if (chosen.untuned_calls != nullptr)
    chosen.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  const Tier tier = times.open() ? times.next() : chosen.tier;
  const bool predicted = tier == chosen.tier;
  const Reason usual = predicted ? Reason::kPredicted : Reason::kMeasured;
  const double start = times.open() ? now_ns() : 0;
  if (tier != Tier::kDevice) {
    impl_->run_on_host(call, tier);
    if (times.open()) impl_->measured(times, now_ns() - start, p);
    if (chosen.tier != Tier::kDevice && !times.device_races())
      impl_->remember(call, {.tier = chosen.tier, .untuned_calls = chosen.untuned_calls}, times,
                      cache.repeated);
    return decided(tier, usual);
  }
  if (const std::vector<GemmCall> parts = impl_->panels_of(call); !parts.empty())
    return in_parts(parts, Reason::kPredicted);
  Reason reason = Reason::kCompiling;
  try {
    const DeviceTier::Wait wait =
        predicted ? impl_->wait_of(Reason::kPredicted) : DeviceTier::Wait::kNo;
    if (const DeviceTier::Ran ran = impl_->device->gemm(call, wait, chosen.device_margin_ns)) {
      if (times.open() && ran.best) impl_->measured(times, now_ns() - start, p);
      return cache.last.set_decided(impl_->id, entry->problem, Tier::kDevice, usual, ran.kernel);
    }
  } catch (const Error& error) {
    impl_->device_failed(p, error);  // what the call reads is untouched: the host answers
    reason = Reason::kFailed;
    if (!predicted) times.leave_device_out();
  }
  impl_->run_on_host(call, chosen.host);
  decided(chosen.host, reason);
}

bool Context::gemm_again(const PlainCall& call) {
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  RepeatedCalls::Entry* const known =
      cache.repeated.find(call.product, impl_->owner.load(std::memory_order_relaxed));
  if (known == nullptr || !known->takes(call)) return false;
  const HostRoute& route = known->route();
  if (route.untuned_calls != nullptr) route.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  TierTimes& times = known->times();
  const Tier tier = times.open() ? times.next() : route.tier;
  const HostThreads threads = tier == Tier::kHost1 ? HostThreads::kOne : impl_->most_threads();
  const double start = times.open() ? now_ns() : 0;
  impl_->blas->sgemm(call.product, call.a, call.b, call.c, threads);
  if (times.open() && times.took(now_ns() - start) && impl_->log != nullptr)
    impl_->log->say_changed(problem_of(known->product()), times);
  cache.last.set_repeated(impl_->id, known->product(), tier,
                          tier == route.tier ? route.reason : Reason::kMeasured);
  return true;
}

Explanation Context::explain(const GemmCall& call, const Residencies& given) const {
  if (impl_->forbids_half_sums(call)) return explain(Impl::without_half_sums(call), given);
  const Problem& p = call.problem;
  const Guard guard = impl_->guard_of(call);
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
    if (const std::vector<RankedChoice> kernels = impl_->device->ranked(call); !kernels.empty())
      explanation.kernel = short_name(kernels.front().candidate->variant);
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  explanation.forced = choice != TierChoice::kAuto;
  if (explanation.forced) explanation.decision.tier = tier_of(choice);
  if (const Tier tier = explanation.decision.tier; tier != Tier::kDevice) {
    explanation.decision.tier = Impl::precise_host(tier, guard);
    explanation.for_precision =
        explanation.decision.tier != tier || (!explanation.forced && needs_float64(guard));
  }
  if (explanation.decision.tier == Tier::kDevice && !all_resident(where) && !packed_operand(where))
    explanation.quick_kernel =
        impl_->quick_kernel(p, explanation.forced ? std::numeric_limits<double>::infinity()
                                                  : device_margin_ns(explanation.decision));
  if (impl_->device != nullptr) explanation.measured_kernel_ns = impl_->device->measured_ns(p);
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

void Context::write_counts() noexcept {
  if (impl_->untuned != nullptr) impl_->untuned->write();
}

void Context::stop_counting() {
  impl_->counts = false;
  impl_->owner.store(next_owner());  // decisions of before have counters
}

std::shared_ptr<Resident> Context::resident() { return impl_->resident->get(impl_->device.get()); }

std::shared_ptr<Resident> Context::opened_resident() const { return impl_->resident->opened(); }

DeviceState Context::device_state() const {
  return impl_->device != nullptr ? impl_->device->state() : DeviceState{};
}

}  // namespace rooftile
