// A synthetic tuning database for the device of this machine.
#pragma once

#include <filesystem>
#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// A host that is usually faster than the device.
inline Calibration fast_host() {
  return {.device = {.submit_ns = 4e4,
                     .upload_gbps = 10,
                     .download_gbps = 10,
                     .fma_gflops = 80,
                     .levels = {{"memory", 12}},
                     .compute_units = 2},
          .host = {.call_ns = 100, .gbps = 20, .gemm = {{64, 64, 64, 20}}},
          .host1 = {.call_ns = 100, .gbps = 10, .gemm = {{64, 64, 64, 12}}}};
}

/// A host that is slightly slower than the kernels, except on small problems.
inline Calibration even_host() {
  Calibration even = fast_host();
  for (HostRates* host : {&even.host, &even.host1}) host->gemm = {{64, 64, 64, 4}};
  return even;
}

/// A host so slow that the device is always faster, even as measured on a busy machine.
inline Calibration slow_host() {
  Calibration slow = fast_host();
  for (HostRates* host : {&slow.host, &slow.host1})
    *host = {.call_ns = 1e9, .gbps = 0.1, .gemm = {{64, 64, 64, 0.1}}};
  return slow;
}

/// Returns the row of the kernel of this signature.
inline RowId candidate_row(Store& store, const Variant& variant, const Signature& signature) {
  return store.candidate_id({.hash = emit_gemm(variant, signature).hash,
                             .signature = to_string(signature),
                             .variant = variant});
}

struct PlantedKernel {
  Variant variant;
  double kernel_ns = 1e5, pack_ns = 0;
};
/// Makes certified kernels, the best one first, the winners of the problem's bucket.
inline void plant_winners(Store& store, RowId device, const Problem& problem,
                          const std::vector<PlantedKernel>& ranked) {
  std::vector<WinnerRecord> winners;
  for (const PlantedKernel& kernel : ranked) {
    const RowId candidate = candidate_row(store, kernel.variant, signature_of(problem));
    store.put_certificate(device, candidate, kGeneratorVersion, true, "planted");
    winners.push_back({.candidate = candidate,
                       .problem = store.problem_id(problem),
                       .rank = static_cast<int>(winners.size()),
                       .kernel_ns = kernel.kernel_ns,
                       .pack_ns = kernel.pack_ns});
  }
  store.put_winners(device, to_string(bucket_of(problem)), winners);
}

/// Writes a database in which the ranked kernels are certified for every pair of transposes, each
/// with one measured problem.
inline void write_test_database(const std::filesystem::path& file, const DeviceProfile& device,
                                const std::vector<Variant>& ranked, const Epilogue& epilogue = {},
                                const Types& types = {},
                                const Calibration& calibration = fast_host(),
                                double kernel_ns = 1e5) {
  Store store(file);
  const RowId row = store.device_id(device);
  store.add_calibration(row, to_figures(calibration));
  std::vector<PlantedKernel> kernels;
  for (const Variant& variant : ranked)
    kernels.push_back({.variant = variant, .kernel_ns = kernel_ns});
  for (Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      Problem problem = packed_problem(64, 64, 64, trans_a, trans_b);
      problem.epilogue = epilogue;
      if (quantized(types)) problem = retyped(problem, types);
      problem.types = types;
      plant_winners(store, row, problem, kernels);
    }
  }
}

/// Another card of this product, with another version of the driver.
inline DeviceProfile another_card(DeviceProfile device) {
  device.device_uuid = std::string(32, 'f');
  ++device.driver_version;
  return device;
}

/// Imports what write_test_database() wrote of these kernels on another machine.
inline void import_measured(const std::filesystem::path& database, const DeviceProfile& card,
                            const std::vector<Variant>& ranked) {
  const std::filesystem::path theirs = database.string() + "-theirs";
  std::filesystem::remove(theirs);
  write_test_database(theirs, card, ranked);
  Store(database).import_from(theirs);
}

}  // namespace rooftile
