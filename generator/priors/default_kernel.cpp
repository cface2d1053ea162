#include "generator/priors/default_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "core/device_kinds.h"
#include "core/groups.h"
#include "core/round.h"
#include "generator/family_defaults.h"
#include "generator/layout.h"
#include "generator/space.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Workgroups that occupy a GPU whose driver reports no compute units: discrete GPUs of the
// generations that have tables have 20 to 128 units, integrated ones 6 to 40.
constexpr std::int64_t kUsualUnits = 64;
// Sides up to which four matrices share a workgroup. A tile of 64 x 64 wastes so much of a smaller
// matrix that its fewer other instructions no longer pay: at 48, (1 + .19) / .56 = 2.1 for each
// useful multiply-add on RDNA3 and 2.1 on Ampere, beside 1.4 and 2.0 of batched_small (the tables).
constexpr std::int64_t kMostShared = 48;
// On lavapipe one matrix after the other is faster from 32 on (bench/results/lavapipe.md).
constexpr std::int64_t kMostSharedInSoftware = 16;
// A tile of which less is useful gives way to a smaller one, which has up to 1.6 times the other
// instructions (the tables).
constexpr double kUsefulEnough = 0.6;
// A smaller difference tells nothing: half of the predicted times of an H200 are wrong by 13 % and
// more (tests/generator/priors/measured_gpu_test.cpp).
constexpr double kAsFast = 1.2;

bool is_software(const DeviceProfile& device) { return device.kind == DeviceKind::kSoftware; }

bool has_kind(const Problem& p, std::string_view kind) {
  const std::vector<std::string_view> kinds = kinds_of(p);
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool shares_workgroups(const DeviceProfile& device, const Problem& p) {
  const std::int64_t most = is_software(device) ? kMostSharedInSoftware : kMostShared;
  return has_kind(p, "batched") && std::max(p.m, p.n) <= most;
}

/// The lines of the device's tables, those for the most specific kind first. A large problem may
/// also be one of few workgroups, for which there are smaller tiles.
std::vector<Prior> lines_for(const DeviceProfile& device, const Problem& p) {
  std::vector<Prior> lines;
  const auto add = [&](std::string_view kind) {
    for (Prior& prior : priors_for_kind(device, p, kind)) lines.push_back(std::move(prior));
  };
  const std::vector<std::string_view> kinds = kinds_of(p);
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind)
    if (*kind != "batched" || shares_workgroups(device, p)) add(*kind);
  if (has_kind(p, "large")) add("small");
  return lines;
}

bool multiplies_on_units(const DeviceProfile& device, const Problem& p) {
  return !emulates_matrix_units(device) &&
         (multiplies_matrices(device.limits, p.types.a) ||
          std::ranges::any_of(device.limits.matrix_granularities, [&](const MatrixShape& shape) {
            return shape.operand == p.types.a;
          }));
}

/// The families for this kind of problem, which is all that is known of a device without a table.
std::vector<Family> families_for(const DeviceProfile& device, const Problem& p) {
  std::vector<Family> families;
  if (has_kind(p, "thin")) families.push_back(Family::kVector);
  if (shares_workgroups(device, p)) families.push_back(Family::kBatchedSmall);
  if (multiplies_on_units(device, p)) families.push_back(Family::kMatrix);
  if (is_software(device)) families.push_back(Family::kBroadcast);
  families.push_back(Family::kTiled);
  families.push_back(Family::kRegister);
  return families;
}

/// How much of the device one kernel uses for one problem.
struct Use {
  double occupied;  ///< Workgroups for each unit, at most 1.
  double useful;    ///< Share of the tiles' elements that are elements of C.
};

Use use_of(const Variant& v, const Problem& p, std::int64_t units) {
  const std::int64_t tiles_m = divide_up(p.m, v.tile_m), tiles_n = divide_up(p.n, v.tile_n),
                     tiles_batch = divide_up(p.batch, v.tile_batch);
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
  };
  return {.occupied = std::min(1.0, share(tiles_m * tiles_n * tiles_batch, units)),
          .useful = share(p.m, tiles_m * v.tile_m) * share(p.n, tiles_n * v.tile_n) *
                    share(p.batch, tiles_batch * v.tile_batch)};
}

/// How many workgroups occupy the device. A software device runs one on each of this machine's
/// processors.
std::int64_t units_of(const DeviceProfile& device) {
  if (is_software(device)) return std::max(1u, std::thread::hardware_concurrency());
  return device.limits.compute_units > 0 ? device.limits.compute_units : kUsualUnits;
}

/// Puts the kernel to the front that needs the fewest parts of k among those that are predicted to
/// be about as fast as the fastest; of these the first. The tables' order knows what kernels make
/// of full units, the prediction how many units a problem fills. Only kernels of the first one's
/// family and scope count: what workgroups' matrices issue is the driver's.
void put_quickest_first(std::vector<Prior>& kernels, const GpuGeneration& gpu, std::int64_t units,
                        const Problem& p, const auto& legal) {
  const DeviceRates rates = published_rates(gpu, static_cast<std::uint32_t>(units));
  struct Choice {
    Prior kernel;
    double ns;
  };
  std::vector<Choice> choices;
  const auto add = [&](Prior kernel) {
    const double ns = analytical_ns(p, kernel.variant, rates);
    choices.push_back({std::move(kernel), ns});
  };
  for (const Prior& kernel : kernels) {
    if (kernel.variant.family != kernels.front().variant.family ||
        kernel.variant.scope != kernels.front().variant.scope)
      continue;
    add(kernel);
    for (const int parts : splits_for(kernel.variant, p, rates.compute_units)) {
      Prior split = kernel;
      // Powers of two, so that the kernels to certify are few.
      split.variant.split_k = static_cast<int>(std::bit_floor(static_cast<unsigned>(parts)));
      split.source += "; k in parts, to fill the device";
      if (legal(split.variant)) add(std::move(split));
    }
  }
  if (choices.empty()) return;
  const double enough = kAsFast * std::ranges::min_element(choices, {}, &Choice::ns)->ns;
  std::erase_if(choices, [&](const Choice& choice) { return choice.ns > enough; });
  const Prior first = std::ranges::min_element(choices, {}, [](const Choice& choice) {
                        return choice.kernel.variant.split_k;
                      })->kernel;
  std::erase_if(kernels, [&](const Prior& kernel) { return kernel.variant == first.variant; });
  kernels.insert(kernels.begin(), first);
}

/// Moves the first of the kernels to the front that has a workgroup for each unit and wastes little
/// of its tiles, or else the one that uses most of the device. Only kernels of the first one's
/// family are moved: the others are for devices where that family is illegal.
void put_occupying_first(std::vector<Prior>& kernels, std::int64_t units, const Problem& p) {
  if (kernels.empty()) return;
  auto best = kernels.end();
  double most = -1;
  for (auto it = kernels.begin(); it != kernels.end(); ++it) {
    if (it->variant.family != kernels.front().variant.family) continue;
    const Use use = use_of(it->variant, p, units);
    const bool enough = use.occupied == 1 && use.useful >= kUsefulEnough;
    if (!enough && use.occupied * use.useful <= most) continue;
    best = it;
    most = use.occupied * use.useful;
    if (enough) break;
  }
  std::rotate(kernels.begin(), best, best + 1);
}

}  // namespace

std::vector<Prior> default_kernels(const DeviceProfile& device, const DeviceLimits& limits,
                                   const Problem& p, const Placement& placement) {
  std::vector<Prior> kernels;
  const Problem like = is_grouped(p) ? equal_batch(p, filled_groups(p)) : p;
  const auto add = [&](const Variant& v, const std::string& source) {
    const auto same = [&](const Prior& known) { return known.variant == v; };
    // No GPU has run float32 on matrix units yet, nor sums that scales multiply: they are measured
    // first.
    if (recomputes_sums(v, p.types) || illegal_reason(v, limits, p, placement)) return false;
    if (std::ranges::none_of(kernels, same)) kernels.push_back({v, source});
    return true;
  };
  // Where vectors do not divide an operand's rows each element is loaded alone. A kernel that reads
  // windows is good at nothing else: other lines are for the rows that windows do not divide.
  const auto add_with_legal_loads = [&](Variant v, const std::string& source) {
    const int width_a = v.vector_width_a, width_b = v.vector_width_b;
    const bool windows = quantized(p.types) && reads_windows(v, p.types);
    for (const auto& [a, b] : {std::pair{width_a, width_b}, {width_a, 1}, {1, width_b}, {1, 1}}) {
      if (windows && b != width_b) continue;
      v.vector_width_a = a;
      v.vector_width_b = b;
      if (add(v, source)) return;
    }
  };
  for (const Prior& line : lines_for(device, like)) add_with_legal_loads(line.variant, line.source);
  const bool in_tables = !kernels.empty();
  const auto put_best_first = [&] {
    const auto legal = [&](const Variant& v) { return !illegal_reason(v, limits, p, placement); };
    if (const GpuGeneration* gpu = gpu_generation(device))
      put_quickest_first(kernels, *gpu, units_of(device), like, legal);
    else
      put_occupying_first(kernels, units_of(device), like);
  };
  if (in_tables) put_best_first();
  for (const Family family : families_for(device, like))
    for (const Variant& v : family_defaults(family, device.limits))
      add_with_legal_loads(v, fmt::format("default of {}", name(family)));
  if (!in_tables) put_best_first();
  add(fallback_variant(), "the fallback");
  return kernels;
}

Variant default_kernel(const DeviceProfile& device, const Problem& p) {
  const std::vector<Prior> kernels = default_kernels(device, device.limits, p, own_buffers(p));
  return kernels.empty() ? fallback_variant() : kernels.front().variant;
}

std::vector<Variant> first_starts(const DeviceProfile& device, const Problem& p) {
  std::vector<Variant> starts = {default_kernel(device, p)};
  for (const Prior& prior : priors_for(device, p)) starts.push_back(prior.variant);
  return starts;
}

}  // namespace rooftile
