// The tuning database: one SQLite file, many readers and several writers (processes) at once. The only folder that sees
// SQLite. Every call is one transaction; kDatabase errors name the file and what to do.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/records.h"

namespace rooftile {

enum class OpenMode : std::uint8_t {
  kReadWrite,  // creates folder and file, migrates
  kReadOnly,   // kNotFound-like kDatabase error when there is no file; never writes, never migrates
};

/// $ROOFTILE_DB, else $XDG_DATA_HOME/rooftile/rooftile.db, else ~/.local/share/rooftile/rooftile.db.
std::filesystem::path default_database_path();

/// Not thread-safe: one Store a thread (or a lock around it).
class Store {
 public:
  /// A file from a newer Rooftile is refused (kDatabase). A damaged one (not SQLite, or integrity_check fails) is renamed to
  /// NAME.damaged-<UTC time> in kReadWrite mode, a fresh one is made, and note() says so; in kReadOnly mode it is an error.
  explicit Store(const std::filesystem::path& path, OpenMode mode = OpenMode::kReadWrite);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& path() const;
  const std::string& note() const;
  int schema_version() const;

  // Devices: identity is uuid, vendor:device, driver id and version, pipelineCacheUUID; a new driver is a new row.
  RowId device_id(const DeviceProfile& profile);                            // inserts when new
  std::optional<RowId> find_device(const DeviceProfile& profile) const;

  // Calibration: a set of figures measured together. Re-calibration adds a set; the newest counts.
  RowId add_calibration(RowId device, std::span<const Figure> figures);
  std::vector<Figure> latest_calibration(RowId device) const;               // empty when never calibrated
  std::string latest_calibration_time(RowId device) const;                  // ISO 8601 UTC, empty when none

  RowId candidate_id(const CandidateRecord& candidate);                     // inserts when new, by hash
  std::optional<CandidateRecord> candidate(RowId id) const;
  RowId problem_id(const Problem& problem);                                 // inserts when new

  // Runs of the tuner and their samples.
  RowId begin_run(RowId device, std::string_view generator_version, std::string_view settings_json);
  void end_run(RowId run, std::string_view outcome);                        // "finished", "budget", "interrupted"
  void add_sample(const SampleRecord& sample);
  /// Samples on this device (row, so: driver) for a problem, over all runs: what a resumed run need not measure again.
  std::vector<SampleRecord> samples(RowId device, RowId problem) const;

  // Winners: the whole ranked list of a bucket is replaced in one transaction.
  void put_winners(RowId device, std::string_view bucket, std::span<const WinnerRecord> ranked);
  /// Certified, not black-listed entries of every bucket, by bucket and rank. generator_version must match the certificate.
  std::vector<TunedKernel> tuned_kernels(RowId device, std::string_view generator_version) const;

  void put_certificate(RowId device, RowId candidate, std::string_view generator_version, bool passed,
                       std::string_view detail);
  /// passed flag of the newest certificate for this generator version, or nothing.
  std::optional<bool> certificate(RowId device, RowId candidate, std::string_view generator_version) const;
  void revoke_certificates(RowId device, std::string_view candidate_hash, std::string_view reason);

  void black_list(RowId device, RowId candidate, std::string_view reason);
  std::vector<BlackListRecord> black_listed(RowId device) const;

  // Journal: written before a candidate is launched, removed after. What is left belongs to a process that died.
  RowId journal_begin(RowId device, RowId candidate, std::int64_t pid);
  void journal_end(RowId journal);
  std::vector<JournalRecord> journal(RowId device) const;

  // Problems that the runtime met without a tuned bucket: counted, bounded to 4096 rows (the least seen goes).
  void log_untuned(RowId device, const Problem& problem, std::int64_t calls = 1);

  /// Any read-only SQL, rows as text: `rooftile query`. kDatabase with SQLite's message for bad SQL or one that writes.
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
  };
  Table query(const std::string& sql) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
