// Fixtures of the tuning database's tests: a temporary folder, and example records.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "db/store.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {

inline DeviceProfile example_device(std::string name = "llvmpipe (LLVM 15.0.6, 256 bits)") {
  DeviceProfile profile;
  profile.name = std::move(name);
  profile.device_uuid = "6d657361323237360000000000000000";
  profile.vendor_id = 0x10005;
  profile.device_id = 0;
  profile.driver_id = 13;
  profile.driver_name = "llvmpipe";
  profile.driver_info = "Mesa 22.3.6 (LLVM 15.0.6)";
  profile.driver_version = 1;
  profile.pipeline_cache_uuid = "000102030405060708090a0b0c0d0e0f";
  profile.api_version = 4206816;
  profile.kind = DeviceKind::kSoftware;
  profile.device_memory_bytes = 1ull << 33;
  profile.unified_memory = true;
  profile.limits.shared_memory_bytes = 32768;
  profile.limits.subgroup_size = 8;
  profile.limits.timestamp_period_ns = 1.25;
  return profile;
}

inline Variant example_variant(int tile_m = 64) {
  Variant variant;
  variant.family = Family::kTiled;
  variant.tile_m = tile_m;
  variant.tile_n = 32;
  variant.tile_k = 16;
  variant.reg_m = 4;
  variant.stage = Stage::kShared;
  return variant;
}

inline CandidateRecord example_candidate(std::string hash, int tile_m = 64) {
  return {
      .id = 0, .hash = std::move(hash), .signature = "f32.nt", .variant = example_variant(tile_m)};
}

inline SampleRecord measured(RowId run, RowId candidate, RowId problem, double kernel_ns) {
  SampleRecord sample;
  sample.run = run;
  sample.candidate = candidate;
  sample.problem = problem;
  sample.kernel = {.median_ns = kernel_ns,
                   .mad_ns = kernel_ns / 100,
                   .low_ns = kernel_ns * 0.98,
                   .high_ns = kernel_ns * 1.02,
                   .count = 7};
  sample.pack_ns = 40;
  sample.compile_ns = 1e6;
  return sample;
}

class StoreTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "rooftile.db"; }
  /// Writes a sound file with one device and enough candidates to fill several pages.
  void fill(const std::filesystem::path& path) {
    Store store(path);
    store.device_id(example_device());
    Store::Transaction transaction(store);
    for (int i = 0; i < 60; ++i) store.candidate_id(example_candidate("hash" + std::to_string(i)));
    transaction.commit();
  }
  ScratchFolder folder_;
};

}  // namespace rooftile
