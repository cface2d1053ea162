// plant_database FILE: a tuning database of this machine's first device in which nothing was
// measured: certified kernels of all four transposes, and a calibration by which the device wins
// every product that is not tiny.
#include <cstdio>
#include <string>
#include <vector>

#include "core/error.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/device/device.h"
#include "runtime/model/calibration.h"

namespace rooftile {
namespace {

void plant(const std::string& file) {
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  const DeviceProfile& device = found.devices.front();
  Store store(file);
  const RowId row = store.device_id(device);
  store.add_calibration(
      row, to_figures({.device = {.submit_ns = 1e3,
                                  .upload_gbps = 1000,
                                  .download_gbps = 1000,
                                  .fma_gflops = 1e5,
                                  .levels = {{"memory", 1000}},
                                  .compute_units = 2},
                       .host = {.call_ns = 100, .gbps = 1, .gemm = {{64, 64, 64, 1}}},
                       .host1 = {.call_ns = 100, .gbps = 1, .gemm = {{64, 64, 64, 1}}}}));
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      const Problem problem = packed_problem(64, 64, 64, trans_a, trans_b);
      std::vector<WinnerRecord> winners;
      for (const Variant& variant : {default_variant(device), fallback_variant()}) {
        const RowId candidate =
            store.candidate_id({.hash = emit_gemm(variant, signature_of(problem)).hash,
                                .signature = to_string(signature_of(problem)),
                                .variant = variant});
        store.put_certificate(row, candidate, kGeneratorVersion, true, "planted");
        winners.push_back({.candidate = candidate,
                           .problem = store.problem_id(problem),
                           .rank = static_cast<int>(winners.size()),
                           .kernel_ns = 100});
      }
      store.put_winners(row, to_string(bucket_of(problem)), winners);
    }
  }
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  rooftile::plant(argv[1]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "plant_database: %s\n", error.what());
  return 1;
}
