#include "cli/inspect_kernels.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "db/store.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/model/gpu/gpu_generation.h"
#include "runtime/model/portfolio.h"
#include "runtime/model/roofline.h"
#include "runtime/tuned/kernel_ranking.h"
#include "tuner/worker/calibration_run.h"

namespace rooftile {
namespace {

// One of each kind of operands for which families and priors differ.
constexpr std::array<const char*, 6> kTypes = {"f32",    "f16",    "bf16",
                                               "i8_i32", "u8_i32", "f16xq4b32_f16"};
constexpr std::array kFamilies = {Family::kNaive,     Family::kRegister, Family::kTiled,
                                  Family::kBroadcast, Family::kVector,   Family::kBatchedSmall,
                                  Family::kMatrix};

/// A size of each kind for which priors differ, and one of so few workgroups that the untuned
/// choice differs.
struct Kind {
  const char* name;
  std::int64_t m, n, k, batch = 1;
};
constexpr std::array kKinds = {Kind{"large", 4096, 4096, 4096}, Kind{"medium", 512, 512, 1024},
                               Kind{"small", 128, 128, 1024},   Kind{"row", 1, 4096, 4096},
                               Kind{"rows", 8, 4096, 4096},     Kind{"column", 4096, 1, 4096},
                               Kind{"columns", 4096, 8, 4096},  Kind{"batched", 32, 32, 64, 1000}};

Problem problem_of(const Kind& kind, ProblemOptions options) {
  options.m = kind.m, options.n = kind.n, options.k = kind.k, options.batch = kind.batch;
  return options.problem();
}

std::vector<ProblemOptions> of_types(const ProblemOptions& problem, const std::string& types) {
  std::vector<ProblemOptions> all;
  for (const char* type : kTypes) {
    all.push_back(problem);
    all.back().type = type;
    // 4-bit weights are stored transposed.
    if (all.back().type == kTypes.back()) all.back().trans_b = true;
  }
  if (types.empty()) return all;
  all.assign(1, problem);
  all.front().type = types;
  return all;
}

void add_once(std::vector<KernelToInspect>& kernels, KernelToInspect kernel) {
  const bool there = std::ranges::any_of(kernels, [&](const KernelToInspect& other) {
    return other.variant == kernel.variant && other.signature == kernel.signature;
  });
  if (!there) kernels.push_back(std::move(kernel));
}

/// The legal kernels of the space, those that the model predicts to be fastest first.
std::vector<KernelToInspect> predicted_kernels(const DeviceProfile& device, const Problem& problem,
                                               const DeviceRates& rates, std::string_view by) {
  struct Predicted {
    Variant variant;
    double ns;
  };
  std::vector<Predicted> predicted;
  for (const Variant& v : legal_variants(device.limits))
    if (!illegal_reason(v, device.limits, problem, own_buffers(problem)))
      predicted.push_back({v, analytical_ns(problem, v, rates)});
  std::ranges::stable_sort(predicted, {}, &Predicted::ns);
  std::vector<KernelToInspect> kernels;
  for (const Predicted& p : predicted)
    kernels.push_back({p.variant, signature_of(problem),
                       fmt::format("predicted to be number {}{}", kernels.size() + 1, by)});
  return kernels;
}

/// The kernels of an untuned device: the one that calls get first, then those that the model, or
/// without published rates the tuner, tries next.
std::vector<KernelToInspect> first_kernels(const DeviceProfile& device, const Problem& problem) {
  std::vector<KernelToInspect> kernels;
  const auto add = [&](const Variant& v, std::string origin) {
    if (!illegal_reason(v, device.limits, problem, own_buffers(problem)))
      add_once(kernels, {v, signature_of(problem), std::move(origin)});
  };
  const std::vector<Prior> untuned =
      default_kernels(device, device.limits, problem, own_buffers(problem));
  for (const Prior& kernel : untuned)
    add(kernel.variant, (kernels.empty() ? "untuned: " : "then: ") + kernel.source);
  if (const GpuGeneration* gpu = gpu_generation(device); gpu != nullptr) {
    kernels.resize(std::min<std::size_t>(kernels.size(), 1));
    const DeviceRates rates = published_rates(*gpu, device.limits.compute_units);
    std::ranges::move(predicted_kernels(device, problem, rates,
                                        fmt::format(" by the published rates of {}", gpu->name)),
                      std::back_inserter(kernels));
    return kernels;
  }
  for (const Prior& prior : priors_for(device, problem))
    add(prior.variant, "prior: " + prior.source);
  return kernels;
}

/// The kernels with which the tuner begins a portfolio of these types (tuner/portfolio_tuner.cpp):
/// the default kernels, priors, and by published rates the model's first, for each kind of problem.
void add_first_of_portfolio(std::vector<KernelToInspect>& kernels, const DeviceProfile& device,
                            std::span<const Variant> space, const ProblemOptions& options) {
  const Signature signature = signature_of(options.problem());
  const auto add = [&](const Variant& v, std::string origin) {
    if (!illegal_reason(v, device.limits, signature))
      add_once(kernels, {v, signature, "portfolio, " + std::move(origin)});
  };
  const GpuGeneration* const gpu = gpu_generation(device);
  for (const Kind& kind : kKinds) {
    const Problem p = problem_of(kind, options);
    add(default_kernel(device, p), fmt::format("{}: default kernel", kind.name));
    for (const Prior& prior : priors_for(device, p))
      add(prior.variant, fmt::format("{}: prior: {}", kind.name, prior.source));
    if (gpu == nullptr) continue;
    const DeviceRates rates = published_rates(*gpu, device.limits.compute_units);
    if (const auto first = predicted_for_portfolio(space, device.limits, p, rates))
      add(*first, fmt::format("{}: predicted by the published rates of {}", kind.name, gpu->name));
  }
  add(fallback_variant(), "legal almost everywhere");
}

/// The device's portfolios in the database, its own and those of other machines.
std::vector<KernelToInspect> stored_portfolios(const DeviceProfile& device,
                                               const Globals& globals) {
  std::vector<KernelToInspect> kernels;
  if (!database_exists(globals.database())) return kernels;
  const Store store(globals.database(), OpenMode::kReadOnly);
  const auto row = store.find_device(device);
  if (!row) return kernels;
  const auto add = [&](std::span<const PortfolioKernel> portfolio, std::string_view whose) {
    for (const PortfolioKernel& kernel : portfolio)
      add_once(kernels, {kernel.candidate.variant, parse_signature(kernel.candidate.signature),
                         fmt::format("number {} of {} portfolio in {}",
                                     kernel.place.value_or(0) + 1, whose, store.path().string())});
  };
  add(store.portfolio(*row, kGeneratorVersion), "the");
  add(store.imported_portfolio(*row), "an imported");
  return kernels;
}

}  // namespace

KernelToInspect one_kernel(const DeviceProfile& device, const ProblemOptions& problem,
                           const ParameterSettings& settings) {
  auto [variant, reason] = chosen_kernel(device, problem, settings);
  return {.variant = variant,
          .signature = signature_of(problem.problem()),
          .illegal = std::move(reason)};
}

std::vector<KernelToInspect> kernels_of_space(const DeviceProfile& device,
                                              const ProblemOptions& problem,
                                              const ParameterSettings& settings, std::size_t most) {
  const Signature signature = signature_of(problem.problem());
  std::vector<KernelToInspect> kernels;
  for (const Variant& v : kernels_with(settings, device, problem, most))
    kernels.push_back({v, signature});
  return kernels;
}

std::vector<KernelToInspect> ranked_kernels(const DeviceProfile& device, const Globals& globals,
                                            const Problem& problem, std::size_t most) {
  std::vector<KernelToInspect> kernels;
  if (database_exists(globals.database())) {
    const Store store(globals.database(), OpenMode::kReadOnly);
    const auto row = store.find_device(device);
    const auto calibration = row ? known_calibration(store, device) : std::nullopt;
    if (row) {
      const auto portfolio = store.portfolio(*row, kGeneratorVersion);
      const KernelRanking ranking(device.limits, calibration ? calibration->device : DeviceRates{},
                                  store.tuned_kernels(*row, kGeneratorVersion), portfolio);
      if (ranking.has_class(problem))
        for (const RankedChoice& choice : ranking.ranked(problem))
          kernels.push_back(
              {choice.candidate->variant, signature_of(problem),
               fmt::format("number {} in {}", kernels.size() + 1, store.path().string())});
    }
    if (kernels.empty() && calibration)
      kernels = predicted_kernels(device, problem, calibration->device, "");
  }
  if (kernels.empty()) kernels = first_kernels(device, problem);
  if (kernels.size() > most) kernels.resize(most);
  return kernels;
}

std::vector<KernelToInspect> prior_kernels(const DeviceProfile& device,
                                           const ProblemOptions& problem,
                                           const std::string& types) {
  std::vector<KernelToInspect> kernels;
  for (const ProblemOptions& options : of_types(problem, types))
    for (const Kind& kind : kKinds) {
      const Problem p = problem_of(kind, options);
      for (const std::string_view table : prior_tables(device))
        for (const Prior& prior : priors_in(table, p))
          if (!illegal_reason(prior.variant, device.limits, signature_of(p)))
            add_once(kernels, {prior.variant, signature_of(p),
                               fmt::format("prior of {} for {} problems", table, kind.name)});
    }
  if (kernels.empty())
    fail(ErrorCode::kUnsupported, "no table has priors for {} with these types", device.name);
  return kernels;
}

std::vector<KernelToInspect> family_default_kernels(const DeviceProfile& device,
                                                    const ProblemOptions& problem,
                                                    const std::string& types) {
  std::vector<KernelToInspect> kernels;
  for (const ProblemOptions& options : of_types(problem, types)) {
    const Signature signature = signature_of(options.problem());
    const auto legal = [&](const Variant& v) {
      return !illegal_reason(v, device.limits, signature);
    };
    for (const Kind& kind : kKinds) {
      const Problem p = problem_of(kind, options);
      const std::vector<Prior> untuned = default_kernels(device, device.limits, p, own_buffers(p));
      if (!untuned.empty())
        add_once(kernels, {untuned.front().variant, signature,
                           fmt::format("untuned, {}: {}", kind.name, untuned.front().source)});
    }
    for (const Family family : kFamilies) {
      const std::vector<Variant> defaults = family_defaults(family, device.limits);
      if (const auto first = std::ranges::find_if(defaults, legal); first != defaults.end())
        add_once(kernels, {*first, signature, fmt::format("default of {}", name(family))});
    }
  }
  if (kernels.empty())
    fail(ErrorCode::kUnsupported, "no family has a kernel for {} with these types", device.name);
  return kernels;
}

std::vector<KernelToInspect> portfolio_kernels(const DeviceProfile& device, const Globals& globals,
                                               const ProblemOptions& problem,
                                               const std::string& types) {
  std::vector<KernelToInspect> kernels = stored_portfolios(device, globals);
  if (!types.empty())
    std::erase_if(kernels, [wanted = parse_types(types)](const KernelToInspect& kernel) {
      return kernel.signature.types != wanted;
    });
  if (!kernels.empty()) return kernels;
  const std::vector<Variant> space = legal_variants(device.limits);
  for (const ProblemOptions& options : of_types(problem, types))
    add_first_of_portfolio(kernels, device, space, options);
  return kernels;
}

KernelToInspect stored_kernel(const Globals& globals, const std::string& hash) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (hash.empty() || hash.find_first_not_of(kHex) != std::string::npos)
    fail(ErrorCode::kInvalidArgument, "--hash is '{}'; a hash has the digits 0 to 9 and a to f",
         hash);
  const Store store(globals.database(), OpenMode::kReadOnly);
  const Store::Table found =
      store.query(fmt::format("SELECT id FROM candidates WHERE hash LIKE '{}%'", hash));
  if (found.rows.size() != 1)
    fail(ErrorCode::kUnsupported, "{} has {} kernels whose hash begins with {}",
         store.path().string(), found.rows.empty() ? "no" : std::to_string(found.rows.size()),
         hash);
  const auto candidate = store.candidate(std::stoll(found.rows.front().front()));
  if (!candidate)
    fail(ErrorCode::kUnsupported, "{} has a kernel {} that this version cannot read",
         store.path().string(), hash);
  return {candidate->variant, parse_signature(candidate->signature), "kernel " + candidate->hash};
}

}  // namespace rooftile
