#include "runtime/context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "generator/signature.h"
#include "generator/version.h"
#include "runtime/decision_cache.h"
#include "runtime/device_tier.h"
#include "runtime/host_blas.h"
#include "runtime/host_tier.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 5> kTierChoices = {"auto", "device", "host", "host1",
                                                          "host64"};

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

/// Byte range of a matrix; empty for one that is not touched.
struct Range {
  const char* begin;
  const char* end;
};
Range range_of(const void* x, Extent extent, std::int64_t ld, DataType type = DataType::kF32) {
  const char* begin = static_cast<const char*>(x);
  return {begin, begin + span_elements(extent, ld) * bytes_of(type)};
}
bool overlap(Range x, Range y) { return x.begin < y.end && y.begin < x.end; }

/// From the first to the last byte of a batch's matrices.
template <typename Matrix>
Range whole_range(const Problem& p, Matrix matrix) {
  Range whole = matrix(0);
  for (std::int64_t i = 1; i < p.batch; ++i) {
    const Range range = matrix(i);
    whole = {std::min(whole.begin, range.begin), std::max(whole.end, range.end)};
  }
  return whole;
}

/// All matrices C of a call. Batches have thousands of them: whole ranges settle nearly every call,
/// and sorted ones the rest.
class Written {
 public:
  explicit Written(const SgemmCall& call) : call_(call), whole_(whole_range(call.problem, c())) {}

  /// Throws when two of them overlap. Those a stride apart cannot: validate() has seen to it.
  void check_each_other() {
    if (call_.c_array == nullptr) return;
    sort();
    for (std::size_t i = 1; i < sorted_.size(); ++i)
      if (overlap(sorted_[i - 1].range, sorted_[i].range))
        fail(ErrorCode::kInvalidArgument, "two matrices C of the batch overlap");
  }

  /// Throws, naming it, when a matrix that is read overlaps one of them; may_be(i) says whether the
  /// i-th may lie exactly where the i-th C does.
  template <typename Matrix, typename MayBe>
  void check_read(const char* what, Matrix matrix, MayBe may_be) {
    if (!overlap(whole_, whole_range(call_.problem, matrix))) return;
    sort();
    for (std::int64_t i = 0; i < call_.problem.batch; ++i) {
      const Range read = matrix(i);
      auto c = std::partition_point(sorted_.begin(), sorted_.end(),
                                    [&](const Sorted& x) { return x.range.begin < read.end; });
      while (c != sorted_.begin() && overlap((--c)->range, read))
        if (!(c->index == i && may_be(i))) fail(ErrorCode::kInvalidArgument, "c overlaps {}", what);
    }
  }
  template <typename Matrix>
  void check_read(const char* what, Matrix matrix) {
    check_read(what, matrix, [](std::int64_t) { return false; });
  }

 private:
  struct Sorted {
    Range range;
    std::int64_t index;
  };
  std::function<Range(std::int64_t)> c() const {
    return [this](std::int64_t i) {
      return range_of(call_.c_of(i), {call_.problem.m, call_.problem.n}, call_.problem.ldc);
    };
  }
  void sort() {
    if (!sorted_.empty()) return;
    for (std::int64_t i = 0; i < call_.problem.batch; ++i) sorted_.push_back({c()(i), i});
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Sorted& x, const Sorted& y) { return x.range.begin < y.range.begin; });
  }
  const SgemmCall& call_;
  Range whole_;
  std::vector<Sorted> sorted_;
};

/// Array of a batch's pointers, or the first matrix when there is no array.
void check_pointers(const char* what, const void* first, const void* const* array,
                    std::int64_t batch) {
  if (array == nullptr && first == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", what);
  for (std::int64_t i = 0; array != nullptr && i < batch; ++i)
    if (array[i] == nullptr) fail(ErrorCode::kInvalidArgument, "{}[{}] is null", what, i);
}

void check_epilogue(const SgemmCall& call, Written& written) {
  const Problem& p = call.problem;
  const Epilogue& e = p.epilogue;
  const EpilogueOperands& x = call.epilogue;
  const auto check_vector = [&](const char* what, bool used, const float* vector,
                                std::int64_t size) {
    if (!used) return;
    if (vector == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", what);
    written.check_read(what, [&](std::int64_t) { return range_of(vector, {1, size}, size); });
  };
  check_vector("row_scale", e.row_scale, x.row_scale, p.m);
  check_vector("column_scale", e.column_scale, x.column_scale, p.n);
  check_vector("bias", e.bias != Bias::kNone, x.bias, e.bias == Bias::kRow ? p.m : p.n);
  if (e.clamp && !(e.low <= e.high))
    fail(ErrorCode::kInvalidArgument, "the clamp's limits are {} and {}", e.low, e.high);
  if (!e.residual) return;
  if (x.residual == nullptr) fail(ErrorCode::kInvalidArgument, "residual is null");
  if (x.ld_residual < p.n)
    fail(ErrorCode::kInvalidArgument, "ld_residual is {}, but its rows are {} elements long",
         x.ld_residual, p.n);
  if (p.batch > 1 && x.stride_residual < 0)
    fail(ErrorCode::kInvalidArgument, "stride_residual is {}", x.stride_residual);
  const auto residual = [&](std::int64_t i) { return x.residual + i * x.stride_residual; };
  // In place is fine: each element is read by whoever writes it.
  written.check_read(
      "the residual other than in place",
      [&](std::int64_t i) {
        return range_of(residual(i), {p.m, p.n}, x.ld_residual);
      },
      [&](std::int64_t i) { return residual(i) == call.c_of(i) && x.ld_residual == p.ldc; });
}

bool empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

void validate_call(const SgemmCall& call) {
  const Problem& p = call.problem;
  if (empty(p)) return;
  check_pointers("c", call.c, reinterpret_cast<const void* const*>(call.c_array), p.batch);
  Written written(call);
  written.check_each_other();
  if (any(p.epilogue)) check_epilogue(call, written);
  if (p.k == 0 || p.alpha == 0.0f) return;
  check_pointers("a", call.a, call.a_array, p.batch);
  check_pointers("b", call.b, call.b_array, p.batch);
  written.check_read(
      "a", [&](std::int64_t i) { return range_of(call.a_of(i), stored_a(p), p.lda, p.type); });
  written.check_read(
      "b", [&](std::int64_t i) { return range_of(call.b_of(i), stored_b(p), p.ldb, p.type); });
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
  std::unordered_set<std::string> tuned_classes;  // what a kernel is compiled for
  // Changes when the device is lost: decisions made before are void.
  std::atomic<std::uint64_t> owner = next_owner();

  void load(const std::filesystem::path& database, const std::string& wanted_device,
            const std::filesystem::path& cache_folder);
  Decision decide(const SgemmCall& call) const;
  void host(const SgemmCall& call, Tier host_tier) const;
};

void Context::Impl::load(const std::filesystem::path& database, const std::string& wanted_device,
                         const std::filesystem::path& cache_folder) {
  if (!std::filesystem::exists(database)) {
    note = fmt::format("no tuning database at {}; run `rooftile tune`", database.string());
    return;
  }
  const Store store(database, OpenMode::kReadOnly);
  const DeviceRecord* best = nullptr;
  std::vector<TunedKernel> best_kernels;
  const std::vector<DeviceRecord> devices = store.devices();
  // Newest first: a device whose driver was updated is there twice. Hardware before software.
  for (auto it = devices.rbegin(); it != devices.rend(); ++it) {
    const DeviceProfile& profile = it->profile;
    if (!wanted_device.empty() && !contains(profile.name, wanted_device) &&
        !contains(profile.device_uuid, wanted_device))
      continue;
    std::vector<TunedKernel> kernels = store.tuned_kernels(it->id, kGeneratorVersion);
    if (kernels.empty()) continue;
    if (best == nullptr || profile.kind < best->profile.kind) {
      best = &*it;
      best_kernels = std::move(kernels);
    }
  }
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
    tuned_classes.insert(to_string(signature_of(kernel.problem)));
  }
  model = DispatchModel(calibration_from_figures(store.latest_calibration(best->id)),
                        best->profile.kind, times);
  device = std::make_unique<DeviceTier>(best->profile, std::move(best_kernels), cache_folder);
}

Decision Context::Impl::decide(const SgemmCall& call) const {
  Call question{.problem = call.problem,
                .extra_passes_over_c = any(call.problem.epilogue) ? 1.0 : 0.0};
  if (device == nullptr) {
    question.device_veto = note;
  } else if (!tuned_classes.contains(to_string(signature_of(call.problem)))) {
    question.device_veto =
        fmt::format("no kernel for {} is tuned on {}", to_string(signature_of(call.problem)),
                    device->profile().name);
  } else {
    question.device_veto = device->veto(call.problem);
  }
  return rooftile::decide(question, model);
}

void Context::Impl::host(const SgemmCall& call, Tier host_tier) const {
  run_on_host(blas, call, host_tier);
}

Context::Context(const ContextOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::string tier = environment("ROOFTILE_TIER");
  impl_->tier = options.tier   ? *options.tier
                : tier.empty() ? TierChoice::kAuto
                               : parse_tier_choice(tier);
  impl_->load(options.database.empty() ? default_database_path() : options.database,
              options.device.empty() ? environment("ROOFTILE_DEVICE") : options.device,
              options.cache_folder.empty() ? default_cache_folder() : options.cache_folder);
}

Context::~Context() = default;

void Context::sgemm(const SgemmCall& call) {
  validate_call(call);
  const Problem& p = call.problem;
  if (empty(p)) return;
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  if (choice == TierChoice::kDevice) {
    if (impl_->device == nullptr)
      fail(ErrorCode::kUnsupported, "the device tier was asked for, but: {}", impl_->note);
    if (const std::string veto = impl_->device->veto(p); !veto.empty())
      fail(ErrorCode::kUnsupported, "{}", veto);
    return impl_->device->sgemm(call);
  }
  if (choice != TierChoice::kAuto) return impl_->host(call, tier_of(choice));

  const std::uint64_t owner = impl_->owner.load(std::memory_order_relaxed);
  DecisionCache& cache = DecisionCache::of_this_thread();
  Tier tier;
  if (const Tier* cached = cache.find(p, owner)) {
    tier = *cached;
  } else {
    tier = impl_->decide(call).tier;
    cache.store(p, owner, tier);
  }
  if (tier != Tier::kDevice) return impl_->host(call, tier);
  try {
    impl_->device->sgemm(call);
  } catch (const Error&) {
    // C is untouched: the host answers. A device that is gone is out of every later decision.
    if (impl_->device->state().lost) impl_->owner.store(next_owner());
    impl_->host(call, Tier::kHost);
  }
}

Explanation Context::explain(const SgemmCall& call) const {
  Explanation explanation{.decision = impl_->decide(call), .note = impl_->note};
  const TierChoice choice = call.tier == TierChoice::kAuto ? impl_->tier : call.tier;
  if (choice != TierChoice::kAuto) explanation.decision.tier = tier_of(choice);
  if (impl_->device != nullptr) {
    explanation.device_name = impl_->device->profile().name;
    if (const auto kernels = impl_->device->ranked(call.problem); !kernels.empty())
      explanation.kernel = short_name(kernels.front()->candidate.variant);
  }
  return explanation;
}

DeviceState Context::device_state() const {
  return impl_->device != nullptr ? impl_->device->state() : DeviceState{};
}

}  // namespace rooftile
