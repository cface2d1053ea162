// STREAM kernels on a device (McCalpin), and one that only reads. Internal to tuner/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "generator/calibration_shaders.h"
#include "runtime/device/device.h"
#include "tuner/measure/probe.h"
#include "tuner/measure/rounds.h"

namespace rooftile {

/// One kernel at one footprint, warmed up, in as many passes as make it long enough.
class StreamRun {
 public:
  StreamRun(TimedDispatch dispatch, double bytes, double ns)
      : dispatch_(std::move(dispatch)), bytes_(bytes), ns_(ns) {}

  Turn take() {  ///< Returns GB/s.
    const Reading reading = dispatch_.take();
    return {bytes_ / reading.kernel_ns, reading.busy_share};
  }
  double ns() const { return ns_; }  ///< Time of the first run.

 private:
  TimedDispatch dispatch_;
  double bytes_, ns_;
};

/// Kernels on slices of one buffer. Footprints are bytes of all arrays together, at most `largest`.
class StreamBench {
 public:
  StreamBench(Device& device, std::uint64_t largest, int local_size);

  /// No value where the device cannot bind arrays of that size in that way.
  std::optional<StreamRun> stream(Stream kernel, LoadPath load_path, std::uint64_t footprint);
  std::optional<StreamRun> read(LoadPath load_path, ReadOrder order, std::uint64_t footprint);

 private:
  bool fits(LoadPath load_path, std::uint64_t bytes) const;
  std::uint32_t groups(std::uint32_t elements, std::uint32_t most_invocations) const;
  template <typename Push>
  StreamRun run(Probe& probe, const std::vector<BufferRange>& bindings, std::uint32_t groups,
                std::uint64_t bytes, const Push& push);

  Device& device_;
  int local_size_;
  Buffer pool_, sums_;
  std::map<std::pair<int, LoadPath>, std::optional<Probe>> probes_;
};

}  // namespace rooftile
