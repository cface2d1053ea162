#include "runtime/tuned/certifiable_kernels.h"

#include <algorithm>

#include "core/round.h"
#include "generator/layout.h"
#include "generator/priors/default_kernel.h"
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

/// The kernels of the nearest tuned class that are legal for this problem.
std::vector<CertifiableKernel> measured_elsewhere(const KernelRanking& tuned,
                                                  const KernelRanking::Near& near, const Problem& p,
                                                  const Placement& at, const DeviceLimits& limits) {
  std::vector<CertifiableKernel> kernels;
  for (const RankedChoice& choice : tuned.ranked(near.problem, own_buffers(near.problem), limits))
    if (!illegal_reason(choice.candidate->variant, limits, p, at) &&
        splits_operands(choice.candidate->variant, p.types) ==
            splits_operands(choice.candidate->variant, near.problem.types))
      kernels.push_back({choice.candidate->variant, near.time_ratio * choice.expected_ns});
  return kernels;
}

/// The kernels for one group of mean size that are legal for all of them. Packing B does not pay:
/// each expert is read for a few rows.
std::vector<CertifiableKernel> for_groups(const DeviceProfile& device, const KernelRanking& tuned,
                                          const Problem& p, const Placement& at,
                                          const DeviceLimits& limits) {
  const std::int64_t groups = std::max<std::int64_t>(p.grouping.groups, 1);
  Problem mean = retyped(one_product(p), p.types);
  mean.m = std::max<std::int64_t>(divide_up(p.m, groups), 1);
  std::vector<CertifiableKernel> kernels;
  const auto add = [&](const CertifiableKernel& kernel) {
    const double all_ns = kernel.expected_ns * static_cast<double>(groups);
    const auto same = [&](const CertifiableKernel& x) { return x.variant == kernel.variant; };
    if (!illegal_reason(kernel.variant, limits, p, at) && std::ranges::none_of(kernels, same))
      kernels.push_back({kernel.variant, all_ns});
  };
  for (CertifiableKernel kernel :
       certifiable_kernels(device, tuned, mean, own_buffers(mean), limits)) {
    kernel.variant.packed_b = Packed::kNo;
    add(kernel);
  }
  return kernels;
}

}  // namespace

std::vector<CertifiableKernel> certifiable_kernels(const DeviceProfile& device,
                                                   const KernelRanking& tuned, const Problem& p,
                                                   const Placement& at,
                                                   const DeviceLimits& limits) {
  if (is_grouped(p)) return for_groups(device, tuned, p, at, limits);
  std::vector<CertifiableKernel> measured;
  const auto near = tuned.nearest(p);
  if (near) measured = measured_elsewhere(tuned, *near, p, at, limits);
  const bool same_operands =
      near && near->problem.types.a == p.types.a && near->problem.types.b == p.types.b;
  if (same_operands && !measured.empty()) return measured;
  std::vector<CertifiableKernel> all;
  for (const Prior& kernel : default_kernels(device, limits, p, at))
    all.push_back({kernel.variant, measured.empty()
                                       ? estimated_ns(device, tuned.rates(), p, kernel.variant)
                                       : measured.front().expected_ns});
  for (const CertifiableKernel& kernel : measured)
    if (std::ranges::find(all, kernel.variant, &CertifiableKernel::variant) == all.end())
      all.push_back(kernel);
  return all;
}

}  // namespace rooftile
