#include "cli/kernel_options.h"

#include <algorithm>

#include "cli/usage.h"
#include "core/error.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/signature.h"
#include "generator/space.h"

namespace rooftile {
namespace {

/// Legality for the problem where its sizes are given, else for its types, transposes and epilogue.
Legality legality_for(const DeviceLimits& limits, const ProblemOptions& sizes) {
  const int given = (sizes.m > 0) + (sizes.n > 0) + (sizes.k > 0);
  if (given % 3 != 0) fail(ErrorCode::kInvalidArgument, "--m, --n and --k go together");
  if (given == 0 && sizes.batch != 1)
    fail(ErrorCode::kInvalidArgument, "--batch needs --m, --n and --k");
  const Problem p = sizes.problem();
  if (given == 0)
    return [limits, s = signature_of(p)](const Variant& v) { return illegal_reason(v, limits, s); };
  return [limits, p](const Variant& v) { return illegal_reason(v, limits, p, own_buffers(p)); };
}

}  // namespace

void KernelOptions::add_to(CLI::App& command) {
  command
      .add_option("--variant", variant,
                  "All parameters as one text: \"family=tiled tile_m=64 ...\"")
      ->type_name("TEXT")
      ->check(not_empty());
  for (const std::string& parameter : parameter_names())
    command.add_option("--" + parameter, values[parameter], parameter_meaning(parameter))
        ->type_name("VALUE")
        ->check(not_empty())
        ->group("Kernel parameters (they replace those of --variant)");
}

ParameterSettings KernelOptions::settings() const {
  ParameterSettings settings = parse_settings(variant);
  for (const auto& [parameter, value] : settings)
    for (const auto& [other, other_value] : settings)
      if (parameter == other && value != other_value)
        fail(ErrorCode::kInvalidArgument, "--variant has both {}={} and {}={}", parameter, value,
             other, other_value);
  for (const auto& [parameter, value] : values) {
    if (value.empty()) continue;
    std::erase_if(settings,
                  [&name = parameter](const auto& setting) { return setting.first == name; });
    settings.emplace_back(parameter, value);
  }
  return settings;
}

CompletedVariant chosen_kernel(const DeviceProfile& device, const ProblemOptions& problem,
                               const ParameterSettings& settings) {
  constexpr std::int64_t kLarge = 4096;
  const Legality illegal = legality_for(device.limits, problem);
  const bool names_family =
      std::ranges::any_of(settings, [](const auto& setting) { return setting.first == "family"; });
  if (!names_family) {
    ProblemOptions sizes = problem;
    if (sizes.m == 0) sizes.m = sizes.n = sizes.k = kLarge;
    const Problem p = sizes.problem();
    for (const Prior& kernel : default_kernels(device, device.limits, p, own_buffers(p)))
      if (const Variant v = with_settings(kernel.variant, settings); !illegal(v)) return {v, {}};
  }
  return complete(with_settings({}, settings).family, settings, device.limits,
                  legal_variants(device.limits), illegal);
}

namespace {

/// Why a search tries no kernel with these settings.
std::string why_none(const DeviceProfile& device, const ProblemOptions& problem,
                     const ParameterSettings& settings) {
  const auto [variant, illegal] = chosen_kernel(device, problem, settings);
  if (illegal) return *illegal;
  if (const auto skipped = skip_reason(variant, device, signature_of(problem.problem())))
    return *skipped;
  return "its space has other values; without --list-space the kernel can be named";
}

}  // namespace

std::vector<Variant> kernels_with(const ParameterSettings& settings, const DeviceProfile& device,
                                  const ProblemOptions& problem, std::size_t most) {
  with_settings({}, settings);  // Unknown names and values are a usage error, not an empty list.
  const Legality illegal = legality_for(device.limits, problem);
  const Signature signature = signature_of(problem.problem());
  std::vector<Variant> kernels;
  for (const Variant& v : legal_variants(device.limits)) {
    if (kernels.size() == most) break;
    if (with_settings(v, settings) == v && !illegal(v) && !skip_reason(v, device, signature))
      kernels.push_back(v);
  }
  if (kernels.empty())
    fail(ErrorCode::kUnsupported, "a search on {} tries no such kernel: {}", device.name,
         why_none(device, problem, settings));
  return kernels;
}

}  // namespace rooftile
