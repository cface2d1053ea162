// Writes what a driver makes of kernels to disk, to be read when the device is no longer there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bench/contests/experiment.h"
#include "core/device_profile.h"

namespace rooftile {

/// Compiles the gemm shaders of the experiments on so many threads, runs nothing, and writes into
/// the folder, as soon as it is known, for each shader
///
///     HASH.txt      what the driver's compiler tells: statistics, internal representations
///     HASH.cache    the data of a pipeline cache that holds this shader alone
///     HASH.bin      on NVIDIA, machine_code() of it
///
/// and kernels.csv, which says for each kernel and problem which hash it has, or why there is none.
/// Keeps the first most_bytes of texts and caches together, and prints what it leaves out. Throws
/// kIo, and kDevice where the device cannot be opened.
void keep_kernels(const DeviceProfile& profile, const std::vector<Experiment>& experiments,
                  const std::filesystem::path& folder, unsigned threads,
                  std::uint64_t most_bytes = 8'000'000);

}  // namespace rooftile
