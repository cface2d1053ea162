#include "runtime/model/factors.h"

namespace rooftile {
namespace {

enum Index { kSize, kIntensity, kClass, kTuning, kFusion, kSparsity, kPrecision };

}  // namespace

Factor size_vs_threshold(const TimeParts& t) {
  const double staged = t.submit + t.transfer_staged + t.kernel;
  return {
      .name = kFactorNames[kSize], .value = t.kernel / staged, .ns = t.submit + t.transfer_staged};
}

Factor arithmetic_intensity_factor(const TimeParts& t) {
  return {.name = kFactorNames[kIntensity],
          .value = t.host_roofline / t.device_roofline,
          .ns = t.device_roofline - t.host_roofline};
}

Factor gpu_class(const TimeParts& t) {
  const double staged = t.submit + t.transfer_staged + t.kernel;
  return {.name = kFactorNames[kClass],
          .value = staged / t.device_unguarded(),
          .ns = t.transfer - t.transfer_staged};
}

// Share of its roofline that the tuned kernel attains, over the share that the host's library
// attains of its own. The host's distance from its roofline measures the tuning by the host's
// vendor and occurs in no other factor.
Factor vendor_tuning(const TimeParts& t) {
  return {.name = kFactorNames[kTuning],
          .value = (t.device_roofline / t.kernel) / (t.host_roofline / t.host_blas),
          .ns = (t.kernel - t.device_roofline) - (t.host_blas - t.host_roofline)};
}

// Host work besides the GEMM, over the host's pass that the device's kernel leaves, which is
// nothing where the kernel is fused.
Factor fusion(const TimeParts& t) {
  return {.name = kFactorNames[kFusion],
          .value = (t.host() / t.host_blas) * (t.device_unguarded() / t.device_with_pass()),
          .ns = t.pass - t.host_extra};
}

Factor precision_risk(const TimeParts& t, Vetoed vetoed) {
  return {.name = kFactorNames[kPrecision],
          .value = vetoed == Vetoed::kYes ? 0.0 : t.device_with_pass() / t.device(),
          .ns = t.guard + t.rerun};
}

std::array<Factor, 7> all_factors(const TimeParts& t, Vetoed vetoed) {
  return {size_vs_threshold(t),
          arithmetic_intensity_factor(t),
          gpu_class(t),
          vendor_tuning(t),
          fusion(t),
          {.name = kFactorNames[kSparsity]},
          precision_risk(t, vetoed)};
}

}  // namespace rooftile
