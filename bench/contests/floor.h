// What a device takes for nothing: empty dispatches, and copies by size and path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/calibration.h"
#include "tuner/measure/full_clocks.h"

namespace rooftile {

/// One line of the table.
struct FloorRow {
  std::string part, what;
  std::uint64_t size = 0;  ///< Dispatches, bytes or multiply-adds, by part.
  /// From the call to its result by the host's clock, and between two timestamps of the device,
  /// empty where nothing ran there.
  std::vector<double> wall_ns = {}, device_ns = {};
  double predicted_ns = 0;   ///< Of wall_ns, by the device's rates; 0: they predict nothing.
  std::string detail = {};   ///< What the prediction consists of.
  std::string failure = {};  ///< Why there are no samples.
};

/// 0, 1, 2, 8 and 64 dispatches of one workgroup that does nothing, in one submission, side by side
/// and with a barrier between each two; predicted are submission and dispatches. Rates that were
/// not measured predict nothing. What the driver refuses is a failure of its row; so are all rows
/// after the loss of the device.
std::vector<FloorRow> dispatch_floor(FullClocks& clocks, const DeviceRates& rates, int rounds);

/// Whether copies go through staging memory.
enum class Staging : std::uint8_t { kWhereNeeded, kAlways };

/// Copies of 1 KiB to most_bytes, in steps of 4, on every path that calls take (docs/memory.md),
/// and the parts of these: the host's copy alone, importing alone, and a copy within the device.
/// The buffers of one size exist at a time, five at most; a size that does not fit is a failure.
std::vector<FloorRow> copy_floor(FullClocks& clocks, const DeviceRates& rates, int rounds,
                                 std::uint64_t most_bytes = std::uint64_t{64} << 20,
                                 Staging staging = Staging::kWhereNeeded);

}  // namespace rooftile
