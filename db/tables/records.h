// The rows of the tuning database as values. Times are in nanoseconds, and ids are SQLite row ids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compiler_facts.h"
#include "core/device_profile.h"
#include "core/figure.h"
#include "core/measured_time.h"
#include "core/numbers/statistics.h"
#include "core/performance_counter.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

using RowId = std::int64_t;

/// A device as it was when last seen. Two rows with one device_uuid differ in their driver.
struct DeviceRecord {
  RowId id = 0;
  DeviceProfile profile;
  std::string created_at;  // ISO 8601 UTC, as everywhere here
};

/// A kernel that was tried: its variant, and the hash of its emitted GLSL, so that a changed
/// template makes new candidates.
struct CandidateRecord {
  RowId id = 0;
  std::string hash;       // Shader::hash of the gemm shader
  std::string signature;  // "f32.nt"
  Variant variant;
};

enum class SampleStatus : std::uint8_t {
  kMeasured,
  kCompileFailed,
  kLaunchFailed,
  kWrongResult,
  kTimedOut,
  kCrashed
};
std::string_view name(SampleStatus status);               // "compile failed"
SampleStatus parse_sample_status(std::string_view text);  // throws kInvalidArgument

/// The purpose of a sample. A search takes samples of all candidates of a problem together; refresh
/// and portfolio take them later, with a few other candidates.
enum class SamplePurpose : std::uint8_t { kSearch, kRefresh, kPortfolio };
std::string_view name(SamplePurpose purpose);               // "search", "refresh", "portfolio"
SamplePurpose parse_sample_purpose(std::string_view text);  // throws kInvalidArgument

/// One measurement of one candidate on one problem: the outcome, and the times if it ran.
struct SampleRecord {
  RowId run = 0, candidate = 0, problem = 0;
  SampleStatus status = SampleStatus::kMeasured;
  Summary kernel;  // device time of all gemm steps; count 0 unless measured, above 0 if measured
  double pack_ns = 0;  // device time of the pack steps, median
  double compile_ns = 0;
  std::string detail;  // message of a failure
  // Runs that were disturbed and resampled, and runs among kernel.count that are flagged noisy.
  int retaken = 0, noisy = 0;
  double level = 1;  // time of the reference kernel at this sample, relative to its time at the
                     // start of the run
  SamplePurpose purpose = SamplePurpose::kSearch;
};

/// A sample as it is exported, with its kernel as stored.
struct StoredSample {
  SampleRecord sample;
  std::string at;             // ISO 8601 UTC
  std::string run_key;        // the same in every database that holds the run
  std::string origin;         // key of the database that it is from; empty: this one
  std::string hash, variant;  // of the candidate; another version may have written the variant
};

/// Conditions that the system reported during a run; empty where it reports none.
struct RunConditions {
  std::optional<double> highest_c;  // of any sensor
  std::optional<std::int64_t> throttle_events;
  std::string seconds = {};  ///< Where its time went (activities_json); "": unknown.
};

/// What a driver's compiler reports about a candidate, and why the tuner did not measure it, if it
/// did not.
struct CompilerFactsRecord {
  CompilerFacts facts;
  std::optional<std::string> dropped_reason;

  bool operator==(const CompilerFactsRecord&) const = default;
};
/// [{"executable":"CS","name":"VGPRs","description":"...","value":64},...]
std::string statistics_json(std::span<const CompilerStatistic> statistics);
/// Reads such a text; entries that are no statistic are left out. Integers that are not negative
/// are returned as unsigned.
std::vector<CompilerStatistic> parse_statistics(const std::string& json);

/// The values of a driver's counters while a kernel computed a problem once.
struct CounterSetRecord {
  std::int64_t passes = 0;                        // number of executions that the counters needed
  std::vector<PerformanceCounter> counters = {};  // in the driver's order
  std::string at = {};                            // ISO 8601 UTC; ignored when the record is stored
};

/// One entry of a bucket's ranked list; rank 0 is the best. Dispatch gets certified candidates
/// only.
struct WinnerRecord {
  RowId candidate = 0, problem = 0;
  int rank = 0;
  double kernel_ns = 0, pack_ns = 0;
};

/// How the first kernel of a problem's ranked list compares with the default kernel.
enum class OutcomeVerdict : std::uint8_t {
  kFaster,   // faster in a paired comparison
  kDefault,  // no kernel was, so that it is the default itself
  kOpen      // the run ended before the comparison did
};
std::string_view name(OutcomeVerdict verdict);                // "faster", "default", "open"
OutcomeVerdict parse_outcome_verdict(std::string_view text);  // throws kInvalidArgument

/// How certain a tuned problem's winner is.
struct OutcomeRecord {
  RowId problem = 0, candidate = 0;  // the first kernel of the list
  OutcomeVerdict verdict = OutcomeVerdict::kOpen;
  // That it is faster than the default, 0 to 1; empty where it is the default, and where no pair
  // was measured.
  std::optional<double> confidence = {};
  std::size_t tried = 0;  // candidates that were measured or failed, in all runs
  // The kernel that programs take where nothing is tuned, and its time beside the
  // winner, packing included; empty where it could not run.
  std::optional<RowId> default_candidate = {};
  std::optional<double> default_ns = {};

  bool operator==(const OutcomeRecord&) const = default;
};
/// A word for tables: "97%" of a winner that is faster, "default", "open", or "open 88%" where some
/// pairs were measured.
std::string certainty_text(OutcomeVerdict verdict, std::optional<double> confidence);

/// A winner as the runtime loads it: certified, not black-listed, with the problem that it was
/// measured on.
struct TunedKernel {
  std::string bucket;
  int rank = 0;
  CandidateRecord candidate;
  Problem problem;
  double kernel_ns = 0, pack_ns = 0;
};

/// The newest verdict on a candidate. A revoked one had passed, and its results were found wrong
/// later.
enum class Verdict : std::uint8_t { kNone, kPassed, kFailed, kRevoked };
std::string_view name(Verdict verdict);  // "none", "passed", "failed", "revoked"

/// A kernel that was measured on many problems of its class. The runtime chooses among such kernels
/// for problems that were not tuned.
struct PortfolioRecord {
  RowId candidate = 0;
  // The order in which the kernel joined the portfolio; empty: it is not part of it.
  std::optional<int> place;
  std::vector<MeasuredTime> times;
};
struct PortfolioKernel {
  CandidateRecord candidate;
  std::optional<int> place;
  std::vector<MeasuredTime> times;
};

/// The cost of choosing from a portfolio, measured on problems that were left out of it: 0.02 is 2
/// % of the time of the fastest kernel.
struct RegretRecord {
  std::string signature;
  std::size_t problems = 0;
  // Empty for too few problems, and in files of a schema before 9.
  std::optional<double> median, median_low, median_high;  // low and high: 95 % interval
  double mean = 0, worst_decile = 0, worst = 0;
  // The regret of choosing the best kernel of the nearest problem instead.
  std::optional<double> nearest_median;
  double nearest_mean = 0, nearest_worst_decile = 0;

  bool operator==(const RegretRecord&) const = default;
};

/// A set of figures that were measured together.
struct CalibrationRecord {
  std::string at;  // ISO 8601 UTC
  std::vector<Figure> figures;
};

/// A sample that was the fastest of its run and problem so far.
struct SearchStep {
  std::size_t sample = 0;  // of the run and problem, counted from 1
  double s = 0;            // since the first of them
  double ns = 0;           // kernel and packing
};
/// The course of the search of one problem in one run. It has no steps where no candidate could be
/// measured.
struct SearchCurve {
  RowId run = 0, problem = 0;
  std::string began;  // first sample, ISO 8601 UTC
  std::size_t samples = 0, failed = 0;
  double seconds = 0;  // from the first sample to the last
  std::vector<SearchStep> steps;
};

/// An entry of a ranked list, with the reason why it may not be dispatched, if it may not.
struct RankedKernel {
  TunedKernel kernel;
  Verdict verdict = Verdict::kNone;  // of the newest certificate, of whichever generator version
  std::string generator_version;     // that the verdict is about
  std::string verdict_detail;
  std::optional<std::string> black_list_reason;
};

/// An entry of another machine's ranked list. kernel.rank is its rank in the whole bucket.
struct ImportedKernel {
  std::string origin;  // key of the database that it is from
  TunedKernel kernel;
};

/// The fastest kernel of a problem in runs that were imported, by its shortest median.
struct ImportedTime {
  Problem problem;
  RowId candidate = 0;
  double kernel_ns = 0, pack_ns = 0;
  std::int64_t tried = 0;  ///< Kernels that were measured there.
};

/// An entry of a ranked list that this version cannot read, because a newer version wrote the
/// kernel or the row was edited by hand.
struct UnknownWinner {
  std::string bucket, variant;
};

struct BlackListRecord {
  RowId candidate = 0;
  std::string reason;
  std::string at;  // ISO 8601 UTC
};

/// A candidate whose compilation or run has begun and has not been reported as finished.
struct JournalRecord {
  RowId id = 0, device = 0, candidate = 0;
  std::int64_t pid = 0;  // of the tuner that wrote it
  std::string started_at;
  // They distinguish that process from a later one with the same pid (process_identity.h).
  std::int64_t process_start_ticks = 0;
  std::string boot_id, pid_namespace;
};

/// A problem that programs called without a tuned kernel. alpha is 1 and beta is 0 or 1, because
/// kernels depend on nothing else of them.
struct UntunedProblem {
  Problem problem;
  std::int64_t calls = 0;
  std::string created_at, seen_at;  // first and last time
};

/// The origin of the data that a call returns.
enum class Provenance : std::uint8_t {
  kOwn,  // data of this machine only
  kAny,  // imported data where this machine has none
};

/// The numbers of rows that an import added.
struct ImportReport {
  std::string origin;  // key of the file's database
  std::int64_t devices = 0, calibrations = 0, runs = 0, samples = 0, winners = 0;
  std::int64_t portfolio = 0;  // kernels of portfolios
};
bool brought_anything(const ImportReport& report);

/// How similar another device is, nearest first.
enum class Nearness : std::uint8_t {
  kSame,         // same device and driver, measured on another machine
  kSameDevice,   // another driver, or another version of it
  kSameProduct,  // vendor and product
  kSameDriver,   // vendor and driver
  kSameKind,     // discrete, integrated, software, ...
};
struct NearDevice {
  RowId device = 0;
  Nearness nearness = Nearness::kSameKind;
  bool same_driver = false;  // the same driver, of any version
  /// Whether what other machines found on it can be certified for the device that it is near to.
  bool is_certifiable() const { return nearness <= Nearness::kSameProduct && same_driver; }
};

/// A kernel's best time on another device, for a problem of the wanted one's class.
struct TransferSample {
  NearDevice from;
  Problem problem;
  Variant variant;
  double ns = 0;  // kernel and packing
};

/// The amount of data about a device.
struct DeviceStats {
  RowId device = 0;
  std::string device_uuid, name, driver_info;
  std::int64_t runs = 0, imported_runs = 0, samples = 0, problems = 0;
  std::string last_tuned;  // begin of the newest run, empty when none
};

struct TableRows {
  std::string table;
  std::int64_t rows = 0;
};

/// Size of the file and what fills it.
struct StoreStats {
  std::vector<TableRows> tables;  // by name
  std::int64_t file_bytes = 0;
  std::int64_t free_bytes = 0;  // of file_bytes; vacuum() gives them back
  std::int64_t wal_bytes = 0;   // write-ahead log next to the file
};

}  // namespace rooftile
