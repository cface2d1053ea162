#include <algorithm>

#include "core/numbers/statistics.h"
#include "generator/calibration_shaders.h"
#include "runtime/model/calibration.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/measure/probe.h"

namespace rooftile {

Figure calibrate_matrix_unit(FullClocks& clocks, const MatrixShape& shape, double compute_units) {
  const std::shared_ptr<Device>& device = clocks.device();
  const DeviceLimits& limits = device->profile().limits;
  const int lanes = static_cast<int>(limits.subgroup_size);
  const int subgroups =
      std::clamp(static_cast<int>(limits.max_workgroup_invocations) / lanes, 1, 4);
  const auto groups = static_cast<std::uint32_t>(std::clamp(16 * compute_units, 32.0, 4096.0));
  const Buffer target = device->create_buffer(
      std::uint64_t{groups} * static_cast<std::uint64_t>(subgroups * lanes) * sizeof(float),
      BufferUse::kDevice);
  constexpr std::uint32_t kWord = 0x3c003c00;  // Any finite values will do: ones in half precision.
  std::vector<double> best = {0.0};
  for (int chains : {2, 8}) {
    Probe probe(*device, emit_matrix_peak(shape, lanes, subgroups * lanes, chains));
    const auto sample = [&](std::uint32_t trips, int samples) {
      return probe.times({{&target}}, MatrixPeakPushConstants{trips, kWord}, groups, samples);
    };
    clocks.raise();
    const std::uint32_t trips = long_enough(
        limits, [&](std::uint32_t n) { return sample(n, 1).front(); }, 1);
    const double flops =
        2.0 * shape.m * shape.n * shape.k * chains * kMatrixPeakSteps * subgroups * groups * trips;
    const std::vector<double> rate = rates(flops, sample(trips, kProbeSamples));
    if (median(rate) > median(best)) best = rate;
  }
  return figure_of(matrix_figure(shape.operand, shape.sum), "gflops", best);
}

}  // namespace rooftile
