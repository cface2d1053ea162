// Stores what a run measures, and counts samples and their noise.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "db/store.h"
#include "tuner/worker/measure.h"

namespace rooftile {

/// Disturbances of a run's measurements, for users.
struct NoiseReport {
  /// Samples that were resampled, and samples that were kept and flagged noisy.
  std::size_t retaken = 0, noisy = 0;
  std::optional<double> slowdown;  ///< Over the whole run: Drift::slowdown().
};

class SampleLog {
 public:
  SampleLog(Store& store, RowId device) : store_(store), device_(device) {}

  /// Whether the stored compiler facts say that the candidate's registers spill.
  bool spills(RowId candidate) { return known_facts(candidate).spilled; }
  /// Counts a candidate that is dropped because its registers spill.
  void drop() { ++spilled_; }
  /// Stores compiler facts and, if there are samples, `sample` with their summary. Returns false
  /// when there are none: the candidate is dropped, or estimated beyond its limit. Samples with
  /// operands that were packed before are counted only.
  bool add(SampleRecord sample, const TimeReply& reply, bool prepacked);

  std::size_t measured() const { return measured_; }
  std::size_t spilled() const { return spilled_; }
  /// Noise of all samples, without a slowdown.
  const NoiseReport& noise() const { return noise_; }

 private:
  /// Compiler facts of a candidate that are stored.
  struct KnownFacts {
    bool stored = false, dropped = false;
    bool spilled = false;
  };
  KnownFacts& known_facts(RowId candidate);
  void store_facts(RowId candidate, const TimeReply& reply);

  Store& store_;
  RowId device_;
  std::map<RowId, KnownFacts> facts_;
  std::size_t measured_ = 0, spilled_ = 0;
  NoiseReport noise_;
};

}  // namespace rooftile
