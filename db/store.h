// The tuning database: one SQLite file, many readers and several writers (processes) at once. The
// only folder that sees SQLite. Tables, views and example queries: docs/database.md.
//
// Every call is one transaction unless a Store::Transaction is open. Errors of every call, the file
// unchanged by it:
//   kDatabase         the file is damaged, read-only, or locked by somebody for longer than
//   busy_timeout_ms kIo               the disk is full or fails kInvalidArgument  a value or row id
//   that the tables refuse
#pragma once

#include <cstdint>
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
  kReadOnly,   // kDatabase error when there is no file; never writes. Of a file with an older
               // schema, up to 64 MiB, it reads a migrated copy in memory, as it is now
};

enum class OpenCheck : std::uint8_t {
  kQuick,  // header and schema, and every page of a file up to 512 KiB: 2 ms
  kFull,   // SQLite's integrity check of the whole file: seconds for a big one
};

struct StoreOptions {
  OpenMode mode = OpenMode::kReadWrite;
  OpenCheck check = OpenCheck::kQuick;
  int busy_timeout_ms = 10'000;  // how long a call waits for another process's transaction
};

/// $ROOFTILE_DB, else $XDG_DATA_HOME/rooftile/rooftile.db, else
/// ~/.local/share/rooftile/rooftile.db.
std::filesystem::path default_database_path();

/// Not thread-safe: one Store a thread (or a lock around it). Not to be used, nor destroyed, in a
/// child after fork().
class Store {
 public:
  /// Refused and left as they are (kDatabase): a file from a newer Rooftile, and a SQLite file of
  /// another program. Damaged (not SQLite, cut short, or the check of options finds something): in
  /// kReadWrite mode the file is renamed to NAME.damaged-<UTC time> with its -wal and -shm, a new
  /// one is made, and note() says so; in kReadOnly mode it is an error. Missing folders are made
  /// with mode 0700.
  Store(const std::filesystem::path& path, const StoreOptions& options);
  explicit Store(const std::filesystem::path& path, OpenMode mode = OpenMode::kReadWrite)
      : Store(path, StoreOptions{.mode = mode}) {}
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& path() const;  // absolute, links resolved
  const std::string& note() const;            // empty when nothing happened
  int schema_version() const;                 // of the file
  /// The schema is older than this program's: what is read is a copy.
  bool older() const;

  /// Several calls as one transaction: all of them, or none unless commit() is reached. Others
  /// cannot write meanwhile, so keep it short; a thousand samples in one are some ten times
  /// faster than one by one. Not nested; the Store must outlive it.
  class Transaction {
   public:
    explicit Transaction(Store& store);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    /// kDatabase when an earlier error inside has already undone everything.
    void commit();

   private:
    Store& store_;
    bool open_ = true;
  };

  // Devices: identity is uuid, vendor:device, driver id and version, pipelineCacheUUID; a new
  // driver is a new row. Names, kind, memory and limits are brought up to date.
  RowId device_id(const DeviceProfile& profile);  // inserts when new
  std::optional<RowId> find_device(const DeviceProfile& profile) const;
  std::vector<DeviceRecord> devices() const;  // by id, limits included

  // Calibration: a set of figures measured together. Re-calibration adds a set; the newest counts.
  // kAny: an imported set stands in where this device was never calibrated here.
  RowId add_calibration(RowId device, std::span<const Figure> figures);
  std::vector<Figure> latest_calibration(  // empty when never calibrated
      RowId device, Provenance provenance = Provenance::kAny) const;
  std::string latest_calibration_time(RowId device) const;  // ISO 8601 UTC, empty when none
  /// The one before the latest, from the same origin: what the latest has drifted from.
  std::optional<CalibrationRecord> calibration_before_latest(RowId device) const;

  /// By hash, inserted when new. The caller has generated the hash from the variant: a row that
  /// says otherwise is corrected.
  RowId candidate_id(const CandidateRecord& candidate);
  std::optional<CandidateRecord> candidate(RowId id) const;
  RowId problem_id(
      const Problem& problem);  // inserts when new; kInvalidArgument also from validate()
  std::optional<RowId> find_problem(const Problem& problem) const;
  std::optional<Problem> problem(RowId id) const;

  // Runs of the tuner and their samples.
  RowId begin_run(RowId device, std::string_view generator_version, std::string_view settings_json);
  /// outcome: "finished", "budget", "interrupted".
  void end_run(RowId run, std::string_view outcome, const RunConditions& conditions = {});
  /// A reading of the kernel that is timed again and again through a run.
  void add_reference_sample(RowId run, const Summary& kernel);
  void add_sample(const SampleRecord& sample);
  /// Samples on this device (row, so: driver) for a problem, over all runs of this file's own,
  /// oldest first: what a resumed run need not measure again.
  std::vector<SampleRecord> samples(RowId device, RowId problem) const;

  /// The search of every problem in every run of this file's own, by problem, then run; each in the
  /// order of its samples. Reads all samples of the device once.
  std::vector<SearchCurve> search_curves(RowId device) const;

  /// Takes the place of what was said before. Holds for every problem: a new driver is a new device
  /// row, and a new kernel a new candidate.
  void put_compiler_facts(RowId device, RowId candidate, const CompilerFactsRecord& record);
  std::optional<CompilerFactsRecord> compiler_facts(RowId device, RowId candidate) const;

  /// Takes the place of what was counted before of this kernel and problem. Values are finite.
  void put_counters(RowId device, RowId candidate, RowId problem, const CounterSetRecord& record);
  std::optional<CounterSetRecord> counters(RowId device, RowId candidate, RowId problem) const;

  // Winners: the whole ranked list of a bucket is replaced in one transaction. Its untuned problems
  // are forgotten, unless the list is empty.
  void put_winners(RowId device, std::string_view bucket, std::span<const WinnerRecord> ranked);
  /// Certified, not black-listed entries of every bucket, by bucket and rank. generator_version
  /// must match the certificate. Variants that this version cannot parse are left out: nobody could
  /// generate them.
  std::vector<TunedKernel> tuned_kernels(RowId device, std::string_view generator_version) const;
  /// Every entry, dispatchable or not, by bucket and rank.
  std::vector<RankedKernel> winners(RowId device) const;
  /// Entries that the two above leave out, by bucket and rank.
  std::vector<UnknownWinner> unknown_winners(RowId device) const;

  /// Takes the place of all kernels of this class (signature) and of what was expected of them.
  /// Without a regret nothing is expected: too few problems.
  void put_portfolio(RowId device, std::string_view signature,
                     std::span<const PortfolioRecord> kernels,
                     const std::optional<RegretRecord>& regret);
  /// Certified, not black-listed ones that have a place, by signature and place: for dispatch.
  std::vector<PortfolioKernel> portfolio(RowId device, std::string_view generator_version) const;
  /// All of a class, whatever the verdict, those with a place first: what need not be measured
  /// again.
  std::vector<PortfolioKernel> measured_portfolio(RowId device, std::string_view signature) const;
  std::vector<RegretRecord> regrets(RowId device) const;  // by signature

  void put_certificate(RowId device, RowId candidate, std::string_view generator_version,
                       bool passed, std::string_view detail);
  /// passed flag of the newest certificate for this generator version, or nothing.
  std::optional<bool> certificate(RowId device, RowId candidate,
                                  std::string_view generator_version) const;
  /// Adds a verdict "revoked" for every generator version that had passed it; unknown hashes are
  /// ignored.
  void revoke_certificates(RowId device, std::string_view candidate_hash, std::string_view reason);

  void black_list(RowId device, RowId candidate,
                  std::string_view reason);  // the newest reason counts
  std::vector<BlackListRecord> black_listed(RowId device) const;
  void clear_black_list(RowId device);
  /// Kernels of a signature whose newest certificate for this generator version is one of having
  /// passed and that are not black-listed, in a ranked list or not; the newest first. Variants that
  /// this version cannot parse are left out.
  std::vector<CandidateRecord> certified_candidates(RowId device,
                                                    std::string_view generator_version,
                                                    std::string_view signature) const;
  /// Hashes of the kernels that are black-listed or whose newest certificate for this generator
  /// version is not one of having passed.
  std::vector<std::string> condemned(RowId device, std::string_view generator_version) const;

  // Journal: written before a candidate is launched, removed after. journal_begin is on the disk
  // when it returns, so that even a power cut leaves the row; it therefore cannot be part of a
  // Transaction (kInvalidArgument).
  RowId journal_begin(RowId device, RowId candidate, std::int64_t pid);
  void journal_end(RowId journal);
  /// All rows, of tuners that live and of those that died.
  std::vector<JournalRecord> journal(RowId device) const;
  /// Rows whose process is gone for sure (db/process_identity.h): their candidates are to blame.
  std::vector<JournalRecord> dead_journal(RowId device) const;

  // Problems that the runtime met without a tuned bucket: counted, bounded to 4096 rows (the least
  // seen goes).
  void log_untuned(RowId device, const Problem& problem, std::int64_t calls = 1);
  std::vector<UntunedProblem> untuned_problems(RowId device) const;  // most calls first

  /// Any read-only SQL, rows as text, NULL as empty: `rooftile query`. One statement. Sees what is
  /// committed, of an older() file what was when it was opened. kDatabase with SQLite's message for
  /// bad SQL or one that would do anything but read this file.
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
  };
  Table query(const std::string& sql) const;

  // Data of other machines. Samples, winners, verdicts, black list and facts above are this file's
  // own; what was imported is seen by the calls below and by the views, and nothing else.

  /// Writes what is known of these devices (rows) to a new file, which takes the place of an old
  /// one at once when it is whole: devices, calibrations, candidates, problems, runs, samples,
  /// ranked lists, portfolios (the kernels that have a place), black list, compiler facts and
  /// counters, imported ones with their origins.
  /// Certificates, journal and untuned problems stay: they are about this machine. Errors:
  /// kInvalidArgument when file is this database; kIo, the old file is then still there.
  void export_to(const std::filesystem::path& file, std::span<const RowId> devices) const;

  /// Adds what is new in a file that export_to wrote, or in another machine's database, of this
  /// version or an older one. Everything or, on an error, nothing. The same file again adds
  /// nothing. file is only read, and not trusted: kDatabase, naming it, for one that is damaged,
  /// altered, newer, or holds what no Rooftile writes; kIo when it is not there. Writers wait
  /// meanwhile: some 20 s a million samples.
  ImportReport import_from(const std::filesystem::path& file);

  /// Ranked lists that other machines have for this device and driver, each by bucket and rank, one
  /// machine's after another's. Without kernels that any of them black-listed for it, and without
  /// those that this version cannot parse. None is dispatched here.
  std::vector<ImportedKernel> imported_kernels(RowId device) const;
  /// The newest imported portfolio of each class for this device and driver, by signature and
  /// place; with the same exceptions.
  std::vector<PortfolioKernel> imported_portfolio(RowId device) const;

  /// Devices that tell something about this one, nearest first, the newest row first among equals;
  /// itself as kSame when samples of it came from elsewhere.
  std::vector<NearDevice> nearest_devices(RowId device) const;
  /// Up to limit of the kernels that were measured on other devices, or elsewhere on equal ones, on
  /// problems of this one's types, transposes and epilogue: by nearness of device, then size, then
  /// time. Kernels that are black-listed there or here are left out, and those that this version
  /// does not know.
  std::vector<TransferSample> transfer_samples(RowId device, const Problem& problem,
                                               std::size_t limit) const;

  // Maintenance.
  StoreStats stats() const;
  std::vector<DeviceStats> device_stats() const;  // by id
  /// Everything wrong with the file, one line each; empty when it is sound. Reads all of it.
  std::vector<std::string> check() const;
  /// Gives free pages back to the file system. kDatabase when other programs are using the file.
  void vacuum();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
