// A small database with problems that are not square, and files of other tuners.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "formats/t4_export.h"
#include "formats/t4_import.h"
#include "generator/emit.h"
#include "generator/version.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {

inline const char* const kRegister = "family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4";
inline const char* const kNaive = "family=naive tile_m=16 tile_n=16";

inline DeviceProfile measured_device() {
  DeviceProfile device;
  device.name = "A \"GPU\", with a comma";
  device.device_uuid = std::string(32, '1');
  device.pipeline_cache_uuid = std::string(32, '2');
  device.vendor_id = 0x1002;
  device.driver_info = "driver 1\nsecond line";
  device.kind = DeviceKind::kDiscrete;
  device.limits.max_workgroup_invocations = 1024;
  device.limits.max_workgroup_size = {1024, 1024, 64};
  return device;
}

inline Problem plain_problem() {
  return packed_problem(65, 33, 129, Transpose::kNo, Transpose::kYes);
}
inline Problem fused_problem() {
  Problem p =
      packed_problem(31, 77, 20, Transpose::kYes, Transpose::kNo, 3, parse_types("f16_f16"));
  p.epilogue = parse_epilogue("bias_column+relu");
  p.lda += 3;
  p.beta = 1;
  return p;
}

class FormatsTest : public ::testing::Test {
 protected:
  /// A run with measurements and failures of two kernels.
  RowId fill(Store& store) {
    const RowId device = store.device_id(measured_device());
    const RowId run = store.begin_run(device, kGeneratorVersion, R"({"seed": 1})");
    for (const Problem& p : {plain_problem(), fused_problem()}) {
      sample(store, run, p, kRegister, SampleStatus::kMeasured, 1234.5678901234567);
      sample(store, run, p, kNaive, SampleStatus::kMeasured, 98765.4321);
      sample(store, run, p, kRegister, SampleStatus::kMeasured, 1100.25);
      for (const SampleStatus status :
           {SampleStatus::kCompileFailed, SampleStatus::kLaunchFailed, SampleStatus::kWrongResult,
            SampleStatus::kTimedOut, SampleStatus::kCrashed})
        sample(store, run, p, kNaive, status, 0);
    }
    store.end_run(run, "finished");
    return device;
  }

  static void sample(Store& store, RowId run, const Problem& p, const char* kernel,
                     SampleStatus status, double ns) {
    SampleRecord sample{.run = run,
                        .candidate = candidate_row(store, parse_variant(kernel), signature_of(p)),
                        .problem = store.problem_id(p),
                        .status = status};
    sample.compile_ns = 5e6;
    if (status == SampleStatus::kMeasured) {
      sample.kernel = {.median_ns = ns,
                       .mad_ns = ns / 100,
                       .low_ns = ns * 0.9,
                       .high_ns = ns * 1.1,
                       .count = 17};
      sample.pack_ns = 10;
      sample.level = 1.25;
      sample.purpose = SamplePurpose::kPortfolio;
    } else {
      sample.detail = "the \"driver\" said, a\nline";
    }
    store.add_sample(sample);
  }

  static std::string t4_of(const Store& store, const std::vector<RowId>& devices,
                           const std::optional<Problem>& problem = {}) {
    std::string text;
    export_t4(store, {.devices = devices, .problem = problem}, "1.2.3",
              [&](std::string_view piece) { text += piece; });
    return text;
  }
  static T4Results read(const std::string& text, const T4Defaults& defaults = {}) {
    std::istringstream stream(text);
    return parse_t4(stream, "results.json", defaults);
  }

  std::filesystem::path file(const char* name) const { return folder_.path() / name; }

  ScratchFolder folder_;
};

}  // namespace rooftile
