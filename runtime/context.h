// What the C ABI opens: database, decisions, tiers. C++ inside, exceptions, row-major only.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/problem.h"
#include "core/quantized.h"
#include "core/variant.h"
#include "runtime/host_epilogue.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

enum class TierChoice : std::uint8_t { kAuto, kDevice, kHost, kHost1, kHost64 };
/// Whether problems without a tuned bucket are counted in the database.
enum class LogUntuned : std::uint8_t { kYes, kNo };
/// Whether calls that are made again are measured, and go to the tier that was the fastest one
/// (runtime/tier_times.h).
enum class MeasureCalls : std::uint8_t { kYes, kNo };
/// Yes: one database and one input give the same bits, in every run and from any number of threads.
/// Kernels that add atomically are left out, host tiers compute on one thread, calls are not
/// measured, and one waits for its kernel instead of letting the host answer. Only a kernel that
/// fails may change a result.
enum class Deterministic : std::uint8_t { kNo, kYes };
/// What a call does whose kernel is not compiled yet: it is answered by whoever is there, or waits
/// for just this kernel.
enum class WhileCompiling : std::uint8_t { kHostAnswers, kWait };
/// "auto", "device", "host", "host1", "host64": in the order of TierChoice.
std::span<const std::string_view> tier_choice_names();
/// Throws kInvalidArgument for anything but these names.
TierChoice parse_tier_choice(std::string_view text);

class Device;
class Resident;
struct PackedOperand;
struct PackRequest;
struct PlainCall;

/// How good a result has to be, and what is done for it (docs/precision.md).
struct Guard {
  // kRelaxed and kStandard: as float32 sums are, in any order. kHigh: to 1e-6 of the sum of
  // magnitudes, with scan and check. kExact64: float64 sums.
  std::optional<Precision> precision;  // nothing: the context's
  bool scan_range = false;             // of the operands, before a device gets them
  bool check_spots = false;            // of a device's result, before the caller gets it
  double kappa = 0;  // condition number of what the caller will do with C; 0: not known

  bool operator==(const Guard&) const = default;
};
/// "relaxed", "standard", "high", "exact64": in the order of Precision.
std::span<const std::string_view> precision_names();
/// Throws kInvalidArgument for anything but these names.
Precision parse_precision(std::string_view text);

struct ContextOptions {
  std::filesystem::path database;  // empty: default_database_path()
  std::string
      device;  // substring of name or uuid; empty: $ROOFTILE_DEVICE, else the best tuned one
  std::optional<TierChoice> tier;              // nothing: $ROOFTILE_TIER, else auto
  std::filesystem::path cache_folder;          // empty: default_cache_folder()
  std::optional<LogUntuned> log_untuned;       // nothing: $ROOFTILE_LOG_UNTUNED, else yes
  std::optional<MeasureCalls> measure_calls;   // nothing: $ROOFTILE_MEASURE_CALLS, else yes
  std::optional<Deterministic> deterministic;  // nothing: $ROOFTILE_DETERMINISTIC, else no
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;  // deterministic: always kWait
  // Of calls that do not say; nothing: $ROOFTILE_PRECISION, else standard.
  std::optional<Precision> precision;
  // The program's own: resident() is on it, and only what was tuned for the same one counts.
  std::shared_ptr<Device> adopted = nullptr;
};

/// Products on host memory, row-major. Sizes, strides, alpha and beta are in the problem. Matrices
/// of a batch lie a stride apart, or where an array of batch pointers says (then the stride is
/// ignored).
struct GemmCall {
  Problem problem;
  const void* a = nullptr;  // elements of problem.types; a quantised B's values
  const void* b = nullptr;
  void* c = nullptr;
  const void* const* a_array = nullptr;
  const void* const* b_array = nullptr;
  void* const* c_array = nullptr;
  EpilogueOperands epilogue = {};  // what problem.epilogue uses
  const void* scales = nullptr;    // of a quantised B
  const void* zero_points = nullptr;

  const void* a_of(std::int64_t i) const {
    return a_array ? a_array[i] : behind(a, i * problem.stride_a * bytes_of(problem.types.a));
  }
  const void* b_of(std::int64_t i) const {
    return b_array ? b_array[i] : behind(b, bytes_of_b(problem.types, i * problem.stride_b));
  }
  void* c_of(std::int64_t i) const {
    return c_array ? c_array[i]
                   : static_cast<char*>(c) + i * problem.stride_c * bytes_of(problem.types.c);
  }
  QuantizedOperand quantized_b() const { return {b, scales, zero_points}; }
  TierChoice tier = TierChoice::kAuto;
  Guard guard = {};
  // A or B as it was packed before; then the pointer to it may be null (runtime/packed_operand.h).
  std::shared_ptr<const PackedOperand> packed = nullptr;

 private:
  static const void* behind(const void* x, std::int64_t bytes) {
    // A product of alpha or k 0 reads neither A nor B, and may have none.
    return x == nullptr ? nullptr : static_cast<const char*>(x) + bytes;
  }
};

/// Where operands lie. Calls take host memory, and what is packed, so the rest is for questions.
struct Residencies {
  Residency a = Residency::kHost, b = Residency::kHost, c = Residency::kHost;
};

struct Explanation {
  Decision decision;  // of the model; tier is the one that sgemm takes (forced tiers included)
  bool forced = false;
  bool for_precision = false;  // the tier is HOST64 because of what the guard asks for
  std::string device_name;     // tuned device, "" when none
  std::string kernel;          // text of the variant that would run, "" when none
  std::string means = {};  // how that kernel comes to compute it: name(Means), "" when none would
  std::string quick_kernel = {};  // that would run while that one is compiled, "" when none
  std::string note;               // what a reader should know: nothing tuned, driver changed, ...
  // Measured on exactly these sizes: kernel and packing by the tuner, BLAS by the calibration.
  std::optional<double> measured_kernel_ns = {}, measured_host_ns = {}, measured_host1_ns = {};
};

/// How a call was answered.
enum class Reason : std::uint8_t {
  kPredicted,    // by the tier that is predicted to be fastest
  kForced,       // by the tier that was asked for
  kCompiling,    // by the host, because the device's kernel is not compiled yet
  kFailed,       // by the host, because the device failed
  kNothingToDo,  // C is empty
  kPrecision,    // by the host, because of what the guard found, or was told
  kMeasured,     // by the tier that earlier calls found to be faster, or that is on trial
};
struct Answer {
  Problem problem;  // row-major
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;  // that the device ran; the context's. Null for parts.
  Residencies where = {};           // with kPacked where the call had a packed operand
};

/// What happened in the last device attempts, for reports, tests and ROOFTILE_LOG.
struct DeviceState {
  bool opened = false;
  bool lost = false;
  std::string last_failure;   // message of the last kernel that failed and was passed over
  std::uint64_t imports = 0;  // operands, so far, whose memory was imported instead of staged
  // Memory that calls are staged through: held, and the most that was in use at once.
  std::uint64_t staging_bytes = 0, most_staging_bytes = 0;
};

/// Thread-safe.
class Context {
 public:
  /// Throws kDatabase (newer or unreadable file), kInvalidArgument (options, environment),
  /// kUnsupported (no BLAS).
  explicit Context(const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Errors leave C untouched: kInvalidArgument; kUnsupported, kDevice, kTimeout, kOutOfMemory only
  /// for a forced tier. Where a forced device fails, C is undefined if beta is 0 (DeviceProduct),
  /// or if it fails in the middle of the panels in which it does what is larger than its buffers.
  /// A device that is predicted to win is opened, and its kernel compiled, in the background; until
  /// then a kernel that compiles much faster runs, if it is predicted to win as well, and until
  /// that is there the host answers. A forced device waits for the first of the two kernels.
  void gemm(const GemmCall& call);
  /// The same for a call like one that this thread has made on this context, pointers aside, and
  /// the host has answered: for the price of a lookup. False, and nothing is done: gemm() has to
  /// look at it, which includes whatever is wrong with it.
  bool gemm_again(const PlainCall& call);
  Explanation explain(const GemmCall& call, const Residencies& where = {}) const;
  /// The decision alone, tiers that are forced aside.
  Decision decide(const Problem& p, const Residencies& where = {}) const;
  Decision decide(const OperationCall& operation) const;
  /// decide()'s tier, for the price that gemm() pays on a problem that its thread does not know.
  Tier predicted_tier(const Problem& p);
  const DispatchModel& model() const;
  const std::string& device_name() const;  // of the tuned device, "" when none
  const std::string& note() const;         // why there is none, "" when there is
  /// Of this thread's last gemm() on this context; nothing when that failed, or there was none.
  std::optional<Answer> last_answer() const;
  /// For calls that are refused before they get here.
  static void forget_last_answer();
  DeviceState device_state() const;
  /// Writes what is counted, as a thread of the context does now and then.
  void write_counts() noexcept;
  /// Calls from now on are not counted as calls of untuned problems. For programs that repeat a
  /// call only to time it.
  void stop_counting();

  /// Waits until no kernel is being certified on demand (runtime/on_demand_kernels.h): for tests,
  /// and for programs that want later calls to have them.
  void wait_for_certificates() const;

  /// A or B of these calls as the device's kernels read it (runtime/packing.h). Without a device
  /// that computes them it has no forms. Throws kInvalidArgument, kOutOfMemory, kDevice.
  std::shared_ptr<const PackedOperand> pack(const PackRequest& request);
  std::uint64_t id() const;  // which no other context has had

  /// The device for data that stays there; opened at the first call. Throws kUnsupported when there
  /// is none, kDevice.
  std::shared_ptr<Resident> resident();
  /// Null when nobody has asked for it yet.
  std::shared_ptr<Resident> opened_resident() const;

 private:
  void gemm_packed(const GemmCall& call);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
