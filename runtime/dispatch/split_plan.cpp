// How calls are divided over several devices and the host: who takes part, the predictions of each,
// and the explanation (docs/several-devices.md).
#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "runtime/call/call_checks.h"
#include "runtime/dispatch/planner.h"
#include "runtime/support/background.h"

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

Decision Planner::decide_on(const DeviceTier& on, const DispatchModel& model, const Problem& p,
                            const Guard& guard, std::optional<double> kernel_ns) const {
  Call call = question(p, {}, guard);
  call.kernel_ns = kernel_ns;
  ask_means(call, {}, on);
  call.max_binding_bytes = static_cast<double>(on.profile().limits.max_storage_buffer_range_bytes);
  if (DeviceTier::Refusal refusal = on.veto(p); refusal.name != Veto::kNone) {
    call.device_veto = std::move(refusal.reason);
    call.device_veto_name = refusal.name;
  }
  return rooftile::decide(call, model);
}

void Planner::add_parties(SplitDecision& d, const Problem& p, const Guard& guard) const {
  const std::int64_t size = length(p, d.along), grain = cut_grain(d.along);
  std::vector<Problem> parts;
  const std::int64_t shares = std::min(kPredictedShares, (size + grain - 1) / grain);
  for (std::int64_t i = 1; i <= shares; ++i)
    parts.push_back(
        range_of({.problem = p}, d.along, 0, std::max<std::int64_t>(i * size / shares, 1)).problem);
  const auto add_device = [&](DeviceTier& on, Tier tier, const DispatchModel& model) {
    Party party = {.resource = static_cast<int>(d.workers.size())};
    const DeviceTier::PartKernel kernel = on.part_kernel(p);
    for (const Problem& part : parts) {
      const Decision one = decide_on(on, model, part, guard, on.part_kernel_ns(kernel, p, part));
      party.share_ns.push_back(one.device_ns);
      if (std::isfinite(one.device_ns)) party.processors = processors_of(on, model, one);
    }
    d.workers.push_back({.device = &on, .tier = tier, .name = brief_name(on.profile())});
    d.parties.push_back(std::move(party));
  };
  add_device(*state_.device.get(), Tier::kDevice, state_.model());
  for (const auto& other : state_.other_devices())
    add_device(*other->tier, Tier::kSplit, other->model);
  tell_apart(d.workers);
  const int host = static_cast<int>(d.workers.size());
  const auto add_host = [&](Tier tier, double threads) {
    Party party = {.processors = threads, .resource = host};
    for (const Problem& part : parts) party.share_ns.push_back(host_ns(part, tier, guard));
    d.workers.push_back({.tier = tier, .name = std::string(name(tier))});
    d.parties.push_back(std::move(party));
  };
  const int threads = state_.blas->threads();
  const bool high = precision_of(guard) == Precision::kHigh;
  add_host(high ? Tier::kHost64 : Tier::kHost, threads);
  if (!high && threads > 1) add_host(Tier::kHost1, 1);
}

double Planner::host_ns(const Problem& p, Tier tier, const Guard& guard) const {
  Call call = question(p, {}, guard);
  call.host_in_float64 = tier == Tier::kHost64;
  call.device_veto = "the host is asked for";
  const Decision d = rooftile::decide(call, state_.model());
  return tier == Tier::kHost64 ? d.host64_ns : tier == Tier::kHost1 ? d.host1_ns : d.host_ns;
}

SplitDecision Planner::plan_split(const Problem& p, const Guard& guard) const {
  const Decision whole = decide(p, {}, guard);
  const bool on_device = whole.tier == Tier::kDevice;
  const Tier host = precise_host(whole.tier, p.types, guard);
  const double unsplit_ns = on_device ? whole.device_ns : host_ns(p, host, guard);
  const std::string unsplit =
      on_device ? brief_name(state_.device->profile()) : std::string(name(host));
  SplitDecision best;
  std::vector<CutAlong> ways = {CutAlong::kBatch};
  if (p.batch == 1) ways = {CutAlong::kRows, CutAlong::kColumns};
  for (const CutAlong along : ways) {
    SplitDecision one = {.along = along,
                         .shared = {.count = processors(),
                                    .busy_speed = busy_speed(whole, state_.blas->threads()),
                                    .thread_ns = thread_start_ns()},
                         .unsplit_ns = unsplit_ns,
                         .always = state_.settings.split_always};
    add_parties(one, p, guard);
    choose_plan(one, p, unsplit);
    if (best.workers.empty() || one.plan.ns < best.plan.ns) best = std::move(one);
  }
  return best;
}

std::shared_ptr<SplitCourse> Planner::course_of(const Problem& p, const Guard& guard) const {
  const std::uint64_t generation = state_.generation.load(std::memory_order_relaxed);
  if (auto known = state_.split_courses.find(p, guard, generation)) return known;
  auto course = std::make_shared<SplitCourse>(plan_split(p, guard));
  state_.split_courses.store(p, guard, generation, course);
  return course;
}

SplitExplanation Planner::explain_split(const Request& r, bool follows, bool elsewhere) const {
  const Settings& settings = state_.settings;
  const Devices asked = r.call->devices == Devices::kDefault ? settings.devices : r.call->devices;
  if (asked != Devices::kAll) return {};
  if (state_.is_deterministic())
    return {.reason =
                "a deterministic context splits no calls: which devices there are must not "
                "change bits"};
  if (settings.adopts_device) return {.reason = "the context is on the program's own device"};
  if (r.is_forced()) return {.reason = "the tier is forced"};
  if (elsewhere) return {.reason = "an operand lies on one device"};
  if (!state_.data.profile) return {.reason = state_.data.note};
  if (widens_sums(r.problem().types))
    return {.reason = "the precision asks for float64 sums, which are not split"};
  if (r.problem().types.rounding != Rounding::kNone)
    return {.reason = "kernels are used that may round operands, and such calls are not split"};
  if (is_empty(r.problem())) return {.reason = "there is nothing to compute"};
  const std::shared_ptr<SplitCourse> course = course_of(r.problem(), r.guard);
  const SplitDecision& d = course->decision();
  SplitExplanation explanation = {.ns = d.plan.ns, .wins = follows, .reason = d.reason};
  if (follows) explanation.shares = shares_text(d, course->shares());
  return explanation;
}

}  // namespace rooftile
