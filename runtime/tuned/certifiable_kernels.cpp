#include "runtime/tuned/certifiable_kernels.h"

#include <algorithm>
#include <array>

#include "core/round.h"
#include "generator/layout.h"
#include "generator/priors/default_kernel.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Flops per nanosecond of a kernel of the tables where nothing was measured. Calls are split by
// this estimate, and a step may take eight times as long before an operating system's watchdog ends
// it (runtime/kernel/step_time.h). The smallest GPUs of the generations that have tables reach
// about 300. The fallback is far slower, and software devices reach 10 to 50 on two cores.
constexpr double kGpuFlopsPerNs = 30, kSlowFlopsPerNs = 1;

double estimated_ns(const DeviceProfile& device, const DeviceRates& rates, const Problem& p,
                    const Variant& v) {
  if (is_calibrated(rates)) return analytical_ns(p, v, rates);
  const bool slow = device.kind == DeviceKind::kSoftware || v.family == Family::kNaive;
  return flops(p) / (slow ? kSlowFlopsPerNs : kGpuFlopsPerNs);
}

/// The kernels of the nearest measured class that are legal for this problem.
std::vector<CertifiableKernel> of_nearest_class(const KernelRanking& measured,
                                                const KernelRanking::Near& near, const Problem& p,
                                                const Placement& at, const DeviceLimits& limits) {
  // With rows of whole vectors, as the staged operands have them: kernels that need these are left
  // out below where the problem's own are not.
  const Problem staged = kernel_problem(near.problem);
  std::vector<CertifiableKernel> kernels;
  for (const RankedChoice& choice : measured.ranked(staged, own_buffers(staged), limits)) {
    const Variant& variant = choice.candidate->variant;
    if (!illegal_reason(variant, limits, p, at) &&
        recomputes_sums(variant, p.types) == recomputes_sums(variant, near.problem.types) &&
        rounding_in(variant, p.types) == rounding_in(variant, near.problem.types))
      append(kernels, std::array{CertifiableKernel{variant, near.time_ratio * choice.expected_ns}});
  }
  return kernels;
}

/// Those that were measured on such groups, and then the kernels for one group of mean size that
/// are legal for all of them. Packing B does not pay: each expert is read for a few rows.
std::vector<CertifiableKernel> for_groups(const DeviceProfile& device,
                                          const KernelRanking& measured, const Problem& p,
                                          const Placement& at, const DeviceLimits& limits) {
  std::vector<CertifiableKernel> kernels;
  if (measured.has_class(p))
    for (const RankedChoice& choice : measured.ranked(p, at, limits))
      append(kernels, std::array{CertifiableKernel{choice.candidate->variant, choice.expected_ns}});
  const std::int64_t groups = std::max<std::int64_t>(p.grouping.groups, 1);
  Problem mean = retyped(one_product(p), p.types);
  mean.m = std::max<std::int64_t>(divide_up(p.m, groups), 1);
  for (CertifiableKernel kernel :
       certifiable_kernels(device, measured, mean, own_buffers(mean), limits)) {
    kernel.variant.packed_b = Packed::kNo;
    kernel.expected_ns *= static_cast<double>(groups);
    if (!illegal_reason(kernel.variant, limits, p, at)) append(kernels, std::array{kernel});
  }
  return kernels;
}

}  // namespace

void append(std::vector<CertifiableKernel>& kernels, std::span<const CertifiableKernel> more) {
  for (const CertifiableKernel& kernel : more)
    if (std::ranges::find(kernels, kernel.variant, &CertifiableKernel::variant) == kernels.end())
      kernels.push_back(kernel);
}

std::vector<CertifiableKernel> certifiable_kernels(const DeviceProfile& device,
                                                   const KernelRanking& measured, const Problem& p,
                                                   const Placement& at,
                                                   const DeviceLimits& limits) {
  if (is_grouped(p)) return for_groups(device, measured, p, at, limits);
  std::vector<CertifiableKernel> nearest;
  const auto near = measured.nearest(p);
  if (near) nearest = of_nearest_class(measured, *near, p, at, limits);
  const bool same_operands =
      near && near->problem.types.a == p.types.a && near->problem.types.b == p.types.b;
  if (same_operands && !nearest.empty()) return nearest;
  std::vector<CertifiableKernel> all;
  for (const Prior& kernel : default_kernels(device, limits, p, at))
    all.push_back({kernel.variant, nearest.empty()
                                       ? estimated_ns(device, measured.rates(), p, kernel.variant)
                                       : nearest.front().expected_ns});
  append(all, nearest);
  return all;
}

}  // namespace rooftile
