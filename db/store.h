// The tuning database: one SQLite file, which many processes read and several write at once. No
// other folder uses SQLite. docs/database-tables.md describes the tables and views, and
// docs/database.md has example queries.
//
// Every call is one transaction, unless a Store::Transaction is open. A call that throws leaves the
// file unchanged. Errors of every call:
//
// - kDatabase: the file is damaged or read-only, or another process keeps it locked for longer than
//   busy_timeout_ms.
// - kIo: the disk is full, or it fails.
// - kInvalidArgument: the tables refuse a value or a row id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/open/database_path.h"
#include "db/sqlite/store_options.h"
#include "db/tables/records.h"

namespace rooftile {

/// One open tuning database. It is not thread-safe: use one Store for each thread, or a lock around
/// it. A child process must neither use nor destroy it after fork().
class Store {
 public:
  /// Refused and left as they are (kDatabase): a file from a newer Rooftile, a SQLite file of
  /// another program, and a file whose header has no mark of Rooftile's. A tuning database that is
  /// damaged (cut short, or the check of options finds something): in kReadWrite mode the file is
  /// renamed to NAME.damaged-<UTC time> with its -wal and -shm, a new one is made, and note() says
  /// so; in kReadOnly mode it is an error. Missing folders are made with mode 0700.
  Store(const std::filesystem::path& path, const StoreOptions& options);
  explicit Store(const std::filesystem::path& path, OpenMode mode = OpenMode::kReadWrite)
      : Store(path, StoreOptions{.mode = mode}) {}
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& path() const;  // absolute, with symbolic links resolved
  const std::string& note() const;            // about a damaged file that was set aside; else empty
  int schema_version() const;                 // of the file

  /// Makes several calls one transaction: all of them take effect with commit(), or none without
  /// it. Other processes cannot write meanwhile, so keep it short. A thousand samples in one
  /// transaction are some ten times faster than one by one. Transactions do not nest, and the Store
  /// must outlive them.
  class Transaction {
   public:
    explicit Transaction(Store& store);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    /// Throws kDatabase when an earlier error inside has already undone everything.
    void commit();

   private:
    Store& store_;
    bool open_ = true;
  };

  // Devices. A row is identified by uuid, vendor:device, driver id and version and
  // pipelineCacheUUID, so a new driver is a new row. device_id() brings names, kind, memory and
  // limits up to date.
  RowId device_id(const DeviceProfile& profile);  // inserts when new
  std::optional<RowId> find_device(const DeviceProfile& profile) const;
  /// Whether this machine has tuned or calibrated the device; else its data is other machines'.
  bool measured_here(RowId device) const;
  std::vector<DeviceRecord> devices() const;  // by id, limits included

  // Calibrations. A calibration is a set of figures that were measured together; calibrating again
  // adds a set, and the newest counts. With kAny imported sets are returned where this device was
  // never calibrated here.
  RowId add_calibration(RowId device, std::span<const Figure> figures);
  /// The newest calibrations, all from one origin: drift is the second's distance to the first.
  std::vector<CalibrationRecord> calibrations(RowId device, Provenance provenance,
                                              std::size_t most) const;
  std::vector<Figure> latest_calibration(  // empty when never calibrated
      RowId device, Provenance provenance = Provenance::kAny) const;

  /// The candidate's row by its hash, inserted when new. A row with the same hash and another
  /// variant is corrected, because the caller has generated the hash from the variant.
  RowId candidate_id(const CandidateRecord& candidate);
  std::optional<CandidateRecord> candidate(RowId id) const;
  /// Inserts a problem that is new. Throws kInvalidArgument as validate() does.
  RowId problem_id(const Problem& problem);
  std::optional<RowId> find_problem(const Problem& problem) const;
  std::optional<Problem> problem(RowId id) const;

  // Runs of the tuner and their samples.
  RowId begin_run(RowId device, std::string_view generator_version, std::string_view settings_json);
  /// outcome: "finished", "budget", "interrupted".
  void end_run(RowId run, std::string_view outcome, const RunConditions& conditions = {});
  /// When the device's last run of this machine began (ISO 8601 UTC) that stored where its time
  /// went, and RunConditions::seconds of it; both empty where there is none.
  std::pair<std::string, std::string> latest_run_seconds(RowId device) const;
  /// Adds a time of the reference kernel, which is measured repeatedly through a run.
  void add_reference_sample(RowId run, const Summary& kernel);
  void add_sample(const SampleRecord& sample);
  /// The samples of a device row for a problem, oldest first, from all runs that were not imported.
  /// A resumed run does not measure them again.
  std::vector<SampleRecord> samples(RowId device, RowId problem) const;

  /// Calls `each` for every sample of a device row, imported ones included, by problem, each in the
  /// order in which they were stored. `each` may call this Store's reading functions.
  void for_each_sample(RowId device, const std::function<void(const StoredSample&)>& each) const;

  /// The search of every problem in every run that was not imported, by problem, then by run, each
  /// in the order of its samples. Reads all samples of the device once.
  std::vector<SearchCurve> search_curves(RowId device) const;

  /// Replaces the facts of an earlier compilation. They hold for every problem, because a new
  /// driver is a new device row, and a new kernel is a new candidate.
  void put_compiler_facts(RowId device, RowId candidate, const CompilerFactsRecord& record);
  std::optional<CompilerFactsRecord> compiler_facts(RowId device, RowId candidate) const;

  /// Replaces the earlier counters of this kernel and problem. Values must be finite.
  void put_counters(RowId device, RowId candidate, RowId problem, const CounterSetRecord& record);
  std::optional<CounterSetRecord> counters(RowId device, RowId candidate, RowId problem) const;

  // Winners. put_winners() replaces the whole ranked list of a bucket in one transaction, and
  // deletes the untuned problems of the bucket unless the list is empty.
  void put_winners(RowId device, std::string_view bucket, std::span<const WinnerRecord> ranked);
  /// The entries of every bucket that are certified for generator_version and not black-listed, by
  /// bucket and rank. Variants that this version cannot parse, and so cannot generate, are left
  /// out.
  std::vector<TunedKernel> tuned_kernels(RowId device, std::string_view generator_version) const;
  /// Every entry that this version can parse, whether it may be dispatched or not, by bucket and
  /// rank. unknown: null, or where those go that it cannot parse.
  std::vector<RankedKernel> winners(RowId device,
                                    std::vector<UnknownWinner>* unknown = nullptr) const;

  /// Replaces what is known of how certain a problem's winner is.
  void put_outcome(RowId device, const OutcomeRecord& record);
  std::optional<OutcomeRecord> outcome(RowId device, RowId problem) const;

  /// Replaces the portfolio of a class of problems (signature) and the regret that is expected of
  /// it. regret is empty where too few problems were measured to estimate one.
  void put_portfolio(RowId device, std::string_view signature,
                     std::span<const PortfolioRecord> kernels,
                     const std::optional<RegretRecord>& regret);
  /// The portfolio kernels that may be dispatched: certified, not black-listed and with a place; by
  /// signature and place.
  std::vector<PortfolioKernel> portfolio(RowId device, std::string_view generator_version) const;
  /// All portfolio kernels of a class with any verdict, those with a place first. They need not be
  /// measured again.
  std::vector<PortfolioKernel> measured_portfolio(RowId device, std::string_view signature) const;

  void put_certificate(RowId device, RowId candidate, std::string_view generator_version,
                       bool passed, std::string_view detail);
  /// Whether the newest certificate for this generator version is a pass; empty where there is
  /// none.
  std::optional<bool> certificate(RowId device, RowId candidate,
                                  std::string_view generator_version) const;
  /// Adds the verdict "revoked" for every generator version with a passed certificate. An unknown
  /// hash is ignored.
  void revoke_certificates(RowId device, std::string_view candidate_hash, std::string_view reason);

  /// Of several reasons the newest counts.
  void black_list(RowId device, RowId candidate, std::string_view reason);
  std::vector<BlackListRecord> black_listed(RowId device) const;
  void clear_black_list(RowId device);
  /// The kernels of a signature whose newest certificate for this generator version is a pass and
  /// that are not black-listed, whether in a ranked list or not, newest first. Variants that this
  /// version cannot parse are left out.
  std::vector<CandidateRecord> certified_candidates(RowId device,
                                                    std::string_view generator_version,
                                                    std::string_view signature) const;
  /// Hashes of the rejected kernels: black-listed, or with a newest certificate for this generator
  /// version that is not a pass.
  std::vector<std::string> wrong_kernels(RowId device, std::string_view generator_version) const;

  // Journal: a row is written before a candidate is launched and removed afterwards. The row is on
  // the disk when journal_begin() returns, so that it survives even a power cut; the call therefore
  // cannot be part of a Transaction (kInvalidArgument).
  RowId journal_begin(RowId device, RowId candidate, std::int64_t pid);
  void journal_end(RowId journal);
  /// All rows, of running tuners and of tuners that have died.
  std::vector<JournalRecord> journal(RowId device) const;
  /// Rows whose process is certainly gone (process_identity.h): the candidate is taken to be the
  /// cause.
  std::vector<JournalRecord> dead_journal(RowId device) const;

  // Problems that programs called without a tuned bucket, with the number of calls. At most 4096
  // rows are kept; the one with the fewest calls is dropped.
  void log_untuned(RowId device, const Problem& problem, std::int64_t calls = 1);
  std::vector<UntunedProblem> untuned_problems(RowId device) const;  // most calls first

  /// The result of one read-only SQL statement, as text with NULL as an empty cell (`rooftile
  /// query`). It sees what is committed. Throws kDatabase with SQLite's message for wrong SQL, and
  /// for a statement that does anything but read this file.
  enum class CellKind : std::uint8_t { kNull, kInteger, kReal, kText };
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
    std::vector<std::vector<CellKind>> kinds;  // of each cell
  };
  Table query(const std::string& sql) const;

  /// The key that goes wherever this database's data go.
  std::string origin() const;

  // Data of other machines. The calls above return samples, winners, verdicts, black list and facts
  // of this machine only; the calls below and the views return imported data.

  /// Writes the data of these device rows to a new file, which replaces an old one atomically once
  /// it is complete. It holds devices, calibrations, candidates, problems, runs, samples, ranked
  /// lists, portfolios (the kernels that have a place), black list, compiler facts and counters;
  /// imported ones keep their origins. Certificates, journal and untuned problems are not exported,
  /// because they concern this machine. Throws kInvalidArgument when file is this database, and
  /// kIo, after which the old file is still there.
  void export_to(const std::filesystem::path& file, std::span<const RowId> devices) const;

  /// Adds what is new in a file that export_to() wrote, or in another machine's database; on an
  /// error it adds nothing. Databases of before 0.1.0 are taken, too. Importing a file twice adds
  /// nothing the second time. The file is only read and is not trusted: kDatabase names a file that
  /// is damaged, altered, newer, or holds values that no Rooftile writes; kIo reports a missing
  /// file. Other writers wait meanwhile, some 20 s for a million samples.
  ImportReport import_from(const std::filesystem::path& file);

  /// The ranked lists of other machines for this row's device and driver, one machine after
  /// another, each by bucket and rank. Kernels that any of the machines black-listed for it, and
  /// those that this version cannot parse, are left out. None of them is dispatched here. here: a
  /// row whose black-listed kernels are left out, too.
  std::vector<ImportedKernel> imported_kernels(RowId device, RowId here = 0) const;
  /// One entry for each problem of which this device row has imported measurements, smallest first.
  std::vector<ImportedTime> imported_times(RowId device) const;
  /// The newest imported portfolio of each class for this device and driver, by signature and
  /// place, with the same kernels left out.
  std::vector<PortfolioKernel> imported_portfolio(RowId device, RowId here = 0) const;

  /// Devices whose samples are informative about this one, nearest first and the newest row first
  /// among equals. The list holds the device itself, as kSame, where samples of it were imported.
  std::vector<NearDevice> nearest_devices(RowId device) const;
  /// Up to limit kernels that were measured on other devices, or on an equal device of another
  /// machine, for problems with the types, transposes and epilogue of this one; ordered by nearness
  /// of the device, then of the size, then by time. Kernels that are black-listed there or here,
  /// and those that this version cannot parse, are left out.
  std::vector<TransferSample> transfer_samples(RowId device, const Problem& problem,
                                               std::size_t limit) const;

  // Maintenance.
  StoreStats stats() const;
  std::vector<DeviceStats> device_stats() const;  // by id
  /// All defects of the file, one line each; empty for a sound one. Reads the whole file.
  std::vector<std::string> check() const;
  /// Returns free pages to the file system. Throws kDatabase when other programs are using the
  /// file.
  void vacuum();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
