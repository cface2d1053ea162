#include "runtime/context.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "generator/signature.h"
#include "generator/version.h"
#include "runtime/call_checks.h"
#include "runtime/decision_cache.h"
#include "runtime/device_tier.h"
#include "runtime/host_tier.h"
#include "runtime/untuned_log.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 5> kTierChoices = {"auto", "device", "host", "host1",
                                                          "host64"};

// Of a problem whose chances on a device that is not calibrated nobody can tell: tens of
// microseconds on any processor, which is what a submission costs.
constexpr double kLeastLoggedFlops = 1e6;

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

bool contains(std::string text, std::string part) {
  const auto lower = [](std::string& s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  };
  lower(text);
  lower(part);
  return text.find(part) != std::string::npos;
}

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

struct BucketHash {
  std::size_t operator()(const Bucket& b) const {
    std::size_t h = 0;
    for (const int band : {b.m_band, b.n_band, b.k_band, b.batch_band})
      h = 64 * h + static_cast<std::size_t>(band);
    return h;
  }
};

std::uint64_t next_owner() {
  static std::atomic<std::uint64_t> owner = 1;
  return owner++;
}

}  // namespace

DecisionCache& DecisionCache::of_this_thread() {
  static thread_local DecisionCache cache;
  return cache;
}

TierChoice parse_tier_choice(std::string_view text) {
  for (std::size_t i = 0; i < kTierChoices.size(); ++i)
    if (kTierChoices[i] == text) return static_cast<TierChoice>(i);
  fail(ErrorCode::kInvalidArgument, "unknown tier '{}'; known: auto, device, host, host1, host64",
       text);
}

struct Context::Impl {
  const HostBlas& blas = HostBlas::get();
  TierChoice tier = TierChoice::kAuto;
  std::string note;
  std::unique_ptr<DeviceTier> device;  // null: nothing tuned
  DispatchModel model;
  std::vector<Signature> tuned_classes;  // once for each tuned kernel
  std::unordered_set<Bucket, BucketHash> tuned_buckets;
  std::unique_ptr<UntunedLog> untuned;  // null: off, or nowhere to write
  // Changes when the device is lost: decisions made before are void.
  std::atomic<std::uint64_t> owner = next_owner();

  void load(const std::filesystem::path& database, const std::string& wanted_device,
            const std::filesystem::path& cache_folder, LogUntuned log_untuned);
  Decision decide(const GemmCall& call) const;
  /// Where this problem's calls are counted; null when they are not. best_host_ns: that the device
  /// has to beat for its tuning to be worth anything; infinity: anything is.
  std::atomic<std::int64_t>* untuned_counter(const Problem& p, double best_host_ns) const;
};

void Context::Impl::load(const std::filesystem::path& database, const std::string& wanted_device,
                         const std::filesystem::path& cache_folder, LogUntuned log_untuned) {
  if (!std::filesystem::exists(database)) {
    note = fmt::format("no tuning database at {}; run `rooftile tune`", database.string());
    return;
  }
  const Store store(database, OpenMode::kReadOnly);
  const DeviceRecord* best = nullptr;
  const DeviceRecord* known = nullptr;  // tuned or not
  std::vector<TunedKernel> best_kernels;
  const std::vector<DeviceRecord> devices = store.devices();
  // Newest first: a device whose driver was updated is there twice. Hardware before software.
  for (auto it = devices.rbegin(); it != devices.rend(); ++it) {
    const DeviceProfile& profile = it->profile;
    if (!wanted_device.empty() && !contains(profile.name, wanted_device) &&
        !contains(profile.device_uuid, wanted_device))
      continue;
    if (known == nullptr || profile.kind < known->profile.kind) known = &*it;
    std::vector<TunedKernel> kernels = store.tuned_kernels(it->id, kGeneratorVersion);
    if (kernels.empty()) continue;
    if (best == nullptr || profile.kind < best->profile.kind) {
      best = &*it;
      best_kernels = std::move(kernels);
    }
  }
  if (best != nullptr) known = best;
  if (known != nullptr && log_untuned == LogUntuned::kYes &&
      ::access(store.path().c_str(), W_OK) == 0)
    untuned = std::make_unique<UntunedLog>(store.path(), known->id);
  if (best == nullptr) {
    note =
        wanted_device.empty()
            ? fmt::format("no tuned device in {}; run `rooftile tune`", database.string())
            : fmt::format("no tuned device in {} matches '{}'", database.string(), wanted_device);
    return;
  }
  std::vector<TunedTime> times;
  for (const TunedKernel& kernel : best_kernels) {
    const bool seen = std::any_of(times.begin(), times.end(),
                                  [&](const TunedTime& t) { return t.problem == kernel.problem; });
    if (seen) continue;  // by rank: the first of a problem is its best
    times.push_back({.problem = kernel.problem,
                     .ns = kernel.kernel_ns + kernel.pack_ns,
                     .tile_m = kernel.candidate.variant.tile_m,
                     .tile_n = kernel.candidate.variant.tile_n});
    tuned_classes.push_back(signature_of(kernel.problem));
    tuned_buckets.insert(bucket_of(kernel.problem));
  }
  const Calibration calibration = calibration_from_figures(store.latest_calibration(best->id));
  KernelRanking ranking(best->profile.limits, calibration.device, std::move(best_kernels),
                        store.portfolio(best->id, kGeneratorVersion));
  model = DispatchModel(calibration, best->profile.kind, times, ranking.predicted_classes());
  device = std::make_unique<DeviceTier>(best->profile, std::move(ranking), cache_folder);
}

Decision Context::Impl::decide(const GemmCall& call) const {
  Call question{.problem = call.problem,
                .extra_passes_over_c = any(call.problem.epilogue) ? 1.0 : 0.0};
  if (device == nullptr) {
    question.device_veto = note;
  } else if (std::ranges::find(tuned_classes, signature_of(call.problem)) == tuned_classes.end()) {
    question.device_veto =
        fmt::format("no kernel for {} is tuned on {}", to_string(signature_of(call.problem)),
                    device->profile().name);
  } else {
    question.device_veto = device->veto(call.problem);
  }
  return rooftile::decide(question, model);
}

std::atomic<std::int64_t>* Context::Impl::untuned_counter(const Problem& p,
                                                          double best_host_ns) const {
  if (untuned == nullptr || tuned_buckets.contains(bucket_of(p))) return nullptr;
  if (p.alpha == 0.0f || p.k == 0) return nullptr;
  if (device != nullptr && !device->does_not_fit(p).empty()) return nullptr;
  const bool worthwhile = is_calibrated(model.device())
                              ? least_device_ns({.problem = p}, model) < best_host_ns
                              : flops(p) >= kLeastLoggedFlops;
  return worthwhile ? untuned->counter(p) : nullptr;
}

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::string tier = environment("ROOFTILE_TIER");
  impl_->tier = options.tier   ? *options.tier
                : tier.empty() ? TierChoice::kAuto
                               : parse_tier_choice(tier);
  impl_->load(options.database.empty() ? default_database_path() : options.database,
              options.device.empty() ? environment("ROOFTILE_DEVICE") : options.device,
              options.cache_folder.empty() ? default_cache_folder() : options.cache_folder,
              options.log_untuned                            ? *options.log_untuned
              : environment("ROOFTILE_LOG_UNTUNED") == "off" ? LogUntuned::kNo
                                                             : LogUntuned::kYes);
}

Context::~Context() = default;

void Context::gemm(const GemmCall& call) {
  validate_call(call);
  const Problem& p = call.problem;
  if (is_empty(p)) return;
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  if (choice == TierChoice::kDevice) {
    if (impl_->device == nullptr)
      fail(ErrorCode::kUnsupported, "the device tier was asked for, but: {}", impl_->note);
    if (const std::string veto = impl_->device->veto(p); !veto.empty())
      fail(ErrorCode::kUnsupported, "{}", veto);
    // Whoever asks for the device wants it faster, won or not.
    if (auto* calls = impl_->untuned_counter(p, std::numeric_limits<double>::infinity()))
      calls->fetch_add(1, std::memory_order_relaxed);
    return impl_->device->gemm(call);
  }
  if (choice != TierChoice::kAuto) return run_on_host(impl_->blas, call, tier_of(choice));

  const std::uint64_t owner = impl_->owner.load(std::memory_order_relaxed);
  DecisionCache& cache = DecisionCache::of_this_thread();
  CachedDecision chosen;
  if (const CachedDecision* cached = cache.find(p, owner)) {
    chosen = *cached;
  } else {
    const Decision decision = impl_->decide(call);
    chosen = {decision.tier, impl_->untuned_counter(p, decision.best_host_ns)};
    cache.store(p, owner, chosen);
  }
  if (chosen.untuned_calls != nullptr)
    chosen.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  const Tier tier = chosen.tier;
  if (tier != Tier::kDevice) return run_on_host(impl_->blas, call, tier);
  try {
    impl_->device->gemm(call);
  } catch (const Error&) {
    // C is untouched: the host answers. A device that is gone is out of every later decision.
    if (impl_->device->state().lost) impl_->owner.store(next_owner());
    run_on_host(impl_->blas, call, Tier::kHost);
  }
}

Explanation Context::explain(const GemmCall& call) const {
  Explanation explanation{.decision = impl_->decide(call), .note = impl_->note};
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  if (choice != TierChoice::kAuto) explanation.decision.tier = tier_of(choice);
  if (impl_->device != nullptr) {
    explanation.device_name = impl_->device->profile().name;
    if (const auto kernels = impl_->device->ranked(call.problem); !kernels.empty())
      explanation.kernel = short_name(kernels.front().candidate->variant);
  }
  return explanation;
}

DeviceState Context::device_state() const {
  return impl_->device != nullptr ? impl_->device->state() : DeviceState{};
}

}  // namespace rooftile
