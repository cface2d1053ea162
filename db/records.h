// Rows as values. Times in ns. Ids are SQLite row ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/problem.h"
#include "core/statistics.h"
#include "core/variant.h"

namespace rooftile {

using RowId = std::int64_t;

/// A kernel that was tried: variant and the hash of its emitted GLSL (so template changes make new candidates).
struct CandidateRecord {
  RowId id = 0;
  std::string hash;       // Shader::hash of the gemm shader
  std::string signature;  // "f32.nt"
  Variant variant;
};

enum class SampleStatus : std::uint8_t { kMeasured, kCompileFailed, kLaunchFailed, kWrongResult, kTimedOut, kCrashed };
std::string_view name(SampleStatus status);

/// One measurement of one candidate on one problem: what happened, and the times if it ran.
struct SampleRecord {
  RowId run = 0, candidate = 0, problem = 0;
  SampleStatus status = SampleStatus::kMeasured;
  Summary kernel;       // device time of all gemm steps; count 0 unless measured
  double pack_ns = 0;   // device time of the pack steps, median
  double compile_ns = 0;
  std::string detail;   // message of a failure
};

/// One entry of a bucket's ranked list; rank 0 is the best. Only certified candidates are handed out for dispatch.
struct WinnerRecord {
  RowId candidate = 0, problem = 0;
  int rank = 0;
  double kernel_ns = 0, pack_ns = 0;
};

/// What the runtime loads: a certified, not black-listed winner with the problem that it was measured on.
struct TunedKernel {
  std::string bucket;
  int rank = 0;
  CandidateRecord candidate;
  Problem problem;
  double kernel_ns = 0, pack_ns = 0;
};

struct BlackListRecord {
  RowId candidate = 0;
  std::string reason;
  std::string at;  // ISO 8601 UTC
};

/// A candidate that was being compiled or run when nobody came back to say how it went.
struct JournalRecord {
  RowId id = 0, device = 0, candidate = 0;
  std::int64_t pid = 0;  // of the tuner that wrote it
  std::string started_at;
};

}  // namespace rooftile
