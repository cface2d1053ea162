// How calls are divided over several devices and the host: who may take part, the predictions of
// each, and the explanation (docs/several-devices.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/call/call_checks.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/dispatch/split_course.h"
#include "runtime/support/background.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

// Shares of a call that are predicted for each worker, evenly spaced.
constexpr std::int64_t kPredictedShares = 16;

double processors() {
  static const double count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

/// "llvmpipe" of "llvmpipe (LLVM 15.0.6, 256 bits)".
std::string brief_name(const DeviceProfile& device) {
  return device.name.substr(0, device.name.find(" ("));
}

/// Speed of each of the host's threads while all of them work, relative to one alone.
double busy_speed(const Decision& d, int threads) {
  const double ratio = d.host1_ns / d.host_ns / threads;
  return threads > 1 && std::isfinite(ratio) ? std::clamp(ratio, 1.0 / threads, 1.0) : 1;
}

/// Processors that a device keeps busy while it computes such a call.
double processors_of(const DeviceTier& device, const DispatchModel& model, const Decision& d) {
  if (device.profile().kind == DeviceKind::kSoftware)
    return std::clamp(model.device().compute_units, 1.0, processors());
  const double copies = d.upload_ns + d.download_ns + (d.pass_over.empty() ? 0 : d.pass_ns);
  return d.device_ns > 0 ? std::clamp(copies / d.device_ns, 0.0, 1.0) : 0;
}

/// Gives devices of the same name numbers.
void tell_apart(std::vector<SplitWorker>& workers) {
  const std::vector<SplitWorker> before = workers;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto same = [&](std::size_t end) {
      return std::ranges::count(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(end),
                                before[i].name, &SplitWorker::name);
    };
    if (same(before.size()) > 1) workers[i].name += fmt::format(" #{}", same(i) + 1);
  }
}

}  // namespace

Devices Context::Impl::devices_of(const GemmCall& call) const {
  // On the program's own device nothing runs that the program has not asked for.
  if (deterministic == Deterministic::kYes || adopted || call.packed != nullptr || !data.profile)
    return Devices::kOne;
  return call.devices == Devices::kDefault ? devices : call.devices;
}

std::span<const std::unique_ptr<OtherDevice>> Context::Impl::other_devices() try {
  const std::lock_guard lock(loading_others);
  if (!others_loaded) {
    others.clear();  // An earlier attempt may have run out of memory halfway.
    const Enumeration present = enumerate_devices();
    for (TunedData& found :
         load_other_devices(data.file, wanted_device, device->profile(), present.devices)) {
      auto other = std::make_unique<OtherDevice>();
      other->model = std::move(found.model);
      other->tier = std::make_unique<DeviceTier>(
          *std::move(found.profile), found.calibration.device, *std::move(found.ranking),
          resident->cache_folder(), nullptr, found.calibration.host.gbps);
      others.push_back(std::move(other));
    }
    others_loaded = true;
  }
  return others;
} catch (const Error& error) {
  const std::lock_guard lock(loading_others);
  others_loaded = true;
  log_warning_once("other devices", fmt::format("{}; calls are split over {} and the host only",
                                                error.what(), device->profile().name));
  return {};
}

Decision Context::Impl::decide_on(const DeviceTier& on, const DispatchModel& model,
                                  const Problem& p, const Guard& guard,
                                  std::optional<double> kernel_ns) const {
  Call call = question(p, {}, guard);
  call.kernel_ns = kernel_ns;
  const KernelChoice route = on.chooser()->choose(p);
  DeviceTier::Refusal refusal = on.veto(p);
  if (refusal.name == Veto::kNone && route.means == Means::kNone)
    refusal = {Veto::kNoKernel, "no kernel is tuned for it"};
  call.device_veto = std::move(refusal.reason);
  call.device_veto_name = refusal.name;
  call.max_binding_bytes = static_cast<double>(on.profile().limits.max_storage_buffer_range_bytes);
  call.pass_ns = route.pass_ns;
  if (route.means == Means::kHostPass) call.before_pass = route.problem;
  call.pass_over = route.pass_over;
  return rooftile::decide(call, model);
}

void Context::Impl::add_parties(SplitDecision& d, const Problem& p, const Guard& guard,
                                const SplitOutcome& failed) {
  const std::int64_t size = length(p, d.along), grain = cut_grain(d.along);
  const bool high = precision_of(guard) == Precision::kHigh;
  std::vector<Problem> parts;
  const std::int64_t shares = std::min(kPredictedShares, (size + grain - 1) / grain);
  for (std::int64_t i = 1; i <= shares; ++i)
    parts.push_back(
        range_of({.problem = p}, d.along, 0, std::max<std::int64_t>(i * size / shares, 1)).problem);
  const auto add_device = [&](DeviceTier& on, const DispatchModel& model) {
    if (failed.all_devices || std::ranges::find(failed.devices, &on) != failed.devices.end())
      return;
    Party party = {.resource = static_cast<int>(d.workers.size())};
    const DeviceTier::PartKernel kernel = on.part_kernel(p);
    for (const Problem& part : parts) {
      const Decision one = decide_on(on, model, part, guard, on.part_kernel_ns(kernel, p, part));
      party.share_ns.push_back(one.device_ns);
      if (std::isfinite(one.device_ns)) party.processors = processors_of(on, model, one);
    }
    d.workers.push_back({.device = &on, .name = brief_name(on.profile())});
    d.parties.push_back(std::move(party));
  };
  add_device(*device.get(), data.model);
  for (const auto& other : other_devices()) add_device(*other->tier, other->model);
  tell_apart(d.workers);
  if (failed.host) return;
  const int host = static_cast<int>(d.workers.size());
  const auto add_host = [&](Tier of_host, double threads) {
    Party party = {.processors = threads, .resource = host};
    for (const Problem& part : parts) {
      Call call = question(part, {}, guard);
      if (of_host == Tier::kHost64) call.precision = Precision::kExact64;
      call.device_veto = "the host is asked for";
      const Decision one = rooftile::decide(call, data.model);
      party.share_ns.push_back(of_host == Tier::kHost64  ? one.host64_ns
                               : of_host == Tier::kHost1 ? one.host1_ns
                                                         : one.host_ns);
    }
    d.workers.push_back({.host = of_host, .name = std::string(name(of_host))});
    d.parties.push_back(std::move(party));
  };
  const int threads = blas->threads();
  add_host(high ? Tier::kHost64 : Tier::kHost, threads);
  if (!high && threads > 1) add_host(Tier::kHost1, 1);
}

SplitDecision Context::Impl::plan_split(const Problem& p, const Guard& guard,
                                        const SplitOutcome& failed) {
  const Decision whole = decide(p, {}, guard);
  const bool high = precision_of(guard) == Precision::kHigh;
  Decision precise = whole;
  if (high) {
    Call call = question(p, {}, guard);
    call.precision = Precision::kExact64;
    call.device_veto = "the host is asked for";
    precise = rooftile::decide(call, data.model);
  }
  const double host_ns = high ? precise.host64_ns : whole.best_host_ns;
  SplitDecision best;
  std::vector<CutAlong> ways = {CutAlong::kBatch};
  if (p.batch == 1) ways = {CutAlong::kRows, CutAlong::kColumns};
  for (const CutAlong along : ways) {
    SplitDecision one = {.along = along};
    one.shared = {.count = processors(),
                  .busy_speed = busy_speed(whole, blas->threads()),
                  .thread_ns = thread_start_ns()};
    const bool on_device = whole.tier == Tier::kDevice;
    one.always = split_always;
    one.unsplit_ns = on_device ? whole.device_ns : host_ns;
    add_parties(one, p, guard, failed);
    choose_plan(one, p,
                on_device ? brief_name(device->profile())
                          : std::string(name(precise_host(whole.tier, guard))));
    if (best.workers.empty() || one.plan.ns < best.plan.ns) best = std::move(one);
  }
  return best;
}

std::shared_ptr<SplitCourse> Context::Impl::course_of(const Problem& p, const Guard& guard) {
  const std::uint64_t state = owner.load(std::memory_order_relaxed);
  if (auto known = split_courses.find(p, guard, state)) return known;
  auto course = std::make_shared<SplitCourse>(plan_split(p, guard, {}));
  split_courses.store(p, guard, state, course);
  return course;
}

SplitExplanation Context::Impl::explain_split(const GemmCall& call, const Guard& guard,
                                              const Residencies& where) {
  const Devices asked = call.devices == Devices::kDefault ? devices : call.devices;
  if (asked != Devices::kAll) return {};
  const bool on_device =
      where.a != Residency::kHost || where.b != Residency::kHost || where.c != Residency::kHost;
  if (deterministic == Deterministic::kYes)
    return {.reason =
                "a deterministic context splits no calls: which devices there are must not "
                "change bits"};
  if (adopted) return {.reason = "the context is on the program's own device"};
  if (choice_of(call) != TierChoice::kAuto) return {.reason = "the tier is forced"};
  if (call.packed != nullptr || on_device) return {.reason = "an operand lies on one device"};
  if (!data.profile) return {.reason = data.note};
  if (needs_float64(guard)) return {.reason = "only the host has the precision"};
  if (is_empty(call.problem)) return {.reason = "there is nothing to compute"};
  const SplitDecision d = plan_split(call.problem, guard, {});
  SplitExplanation explanation = {.ns = d.plan.ns, .wins = d.wins, .reason = d.reason};
  if (d.wins) explanation.shares = shares_text(d, d.plan.shares);
  return explanation;
}

}  // namespace rooftile
